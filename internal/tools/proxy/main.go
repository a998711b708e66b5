// Command proxy writes the modules of this repository in their current state to a folder that
// can serve as GOPROXY=file://…. The folder contains what a user would get if the version were
// tagged now.
//
//	go run ./internal/tools/proxy -dir DIR [-version v0.1.0]
package main

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

const root = "github.com/gibbsite-go/gibbsite"

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "the `folder` to write to")
	version := flag.String("version", "v0.1.0", "of all modules")
	flag.Parse()
	if *dir == "" {
		log.Fatal("-dir: want a folder")
	}
	out, err := exec.Command("git", "ls-files", "-z", "--deduplicate", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		log.Fatal("git ls-files: ", err)
	}
	files := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	for _, folder := range []string{".", "examples", "projection/novelty/bolt", "sampler/beam"} {
		if err := write(*dir, *version, folder, files); err != nil {
			log.Fatal(folder, ": ", err)
		}
	}
}

// write writes the module in folder below dir.
func write(dir, version, folder string, files []string) error {
	module := path.Join(root, folder)
	at := filepath.Join(dir, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	if bytes.Contains(mod, []byte("\nreplace ")) {
		return fmt.Errorf("go.mod has a replace: go run …@%s refuses that", version)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range files {
		rest, inside := strings.CutPrefix(name, folder+"/")
		if folder == "." {
			rest, inside = name, true
		}
		if !inside || nested(folder, name) {
			continue
		}
		if err := add(z, module+"@"+version+"/"+rest, name); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", version, time.Unix(0, 0).UTC().Format(time.RFC3339))
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": []byte(info), version + ".mod": mod, version + ".zip": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// nested reports whether a file belongs to a module nested in the module of folder.
func nested(folder, name string) bool {
	for d := path.Dir(name); d != folder && d != "."; d = path.Dir(d) {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(d), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// add adds a file to the archive. A file that has been deleted in the working tree is omitted.
func add(z *zip.Writer, as, name string) error {
	f, err := os.Open(filepath.FromSlash(name))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := z.Create(as)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// Imports holds the packages of the module against the list of imports that
// stands beside it, and fails on one that is not allowed, in files for other
// machines and build tags, too.
package main

import (
	"bufio"
	"fmt"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const root = "github.com/gibbsite-go/gibbsite"

func main() {
	log.SetFlags(0)
	allowed := whitelist(".ci/imports")
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")
	list.Stderr = os.Stderr // import cycles, for one
	out, err := list.Output()
	if err != nil {
		log.Fatal(err)
	}
	bad := false
	known := map[string]string{}
	for line := range strings.Lines(string(out)) {
		full, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		pkg := short(full)
		if other, twice := known[pkg]; twice {
			fmt.Printf("%s and %s have one name in .ci/imports\n", other, full)
			bad = true
		}
		known[pkg] = full
		may, listed := allowed[pkg]
		if !listed {
			fmt.Printf("%s: not in .ci/imports\n", pkg)
			bad = true
			continue
		}
		for _, path := range imports(dir) {
			if path == "C" {
				fmt.Printf("forbidden import: %s uses cgo\n", pkg)
				bad = true
			}
			own := path == root || strings.HasPrefix(path, root+"/")
			if !own && !strings.Contains(strings.Split(path, "/")[0], ".") || slices.Contains(may, "*") {
				continue
			}
			if name := short(path); !slices.Contains(may, name) || strings.HasPrefix(name, "exact") {
				fmt.Printf("forbidden import: %s imports %s\n", pkg, path)
				bad = true
			}
		}
	}
	if bad {
		os.Exit(1)
	}
}

// imports returns what the files in dir import, tests left out.
func imports(dir string) (paths []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			log.Fatal(err)
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				log.Fatal(err)
			}
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// short returns the name of a package as the list has it.
func short(path string) string {
	if path == root {
		return "."
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, root+"/"), "internal/")
}

// whitelist reads lines "package : import import …".
func whitelist(name string) map[string][]string {
	f, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	allowed := map[string][]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		pkg, imports, ok := strings.Cut(text, ":")
		if ok {
			allowed[strings.TrimSpace(pkg)] = strings.Fields(imports)
		}
	}
	return allowed
}

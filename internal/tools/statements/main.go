// Command statements counts the statements of every package in its syntax tree, including generated
// code and files for other platforms, but not tests:
//
//	go run ./internal/tools/statements [-rev REVISION] [-without PATHS] [folder ...]
//
// Folders are relative to the current folder and include everything below them. Without arguments
// all folders are counted. With -rev it also prints the counts of a git revision, and the
// differences in percent. The argument of -without is a comma-separated list of files and folders
// to omit, such as features added since that revision. A block does not count as a statement, but
// its contents do; a case of a switch counts.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/tools/folder"
)

func main() {
	log.SetFlags(0)
	rev := flag.String("rev", "", "compare with this git `revision`")
	without := flag.String("without", "", "files and folders that do not count, separated by commas (`paths`)")
	flag.Parse()
	var left []string
	if *without != "" {
		left = strings.Split(*without, ",")
	}
	now, err := tree(os.DirFS("."), left)
	if err != nil {
		log.Fatal(err)
	}
	var before counts
	if *rev != "" {
		archive, err := exec.Command("git", "archive", "--format=tar", *rev).Output()
		if err != nil {
			log.Fatalf("git archive %s: %v", *rev, err)
		}
		if before, err = archived(bytes.NewReader(archive), left); err != nil {
			log.Fatal(err)
		}
	}
	report(os.Stdout, before, now, flag.Args())
}

// counts maps the folder of a package to its number of statements.
type counts map[string]int

// add counts a file. It skips files in left, tests, files other than Go, and folders that the go
// command ignores.
func (c counts) add(name string, left []string, source func() ([]byte, error)) error {
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || ignored(name) || left != nil && folder.Among(name, left) {
		return nil
	}
	text, err := source()
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	c[path.Dir(name)] += statements(f)
	return nil
}

// ignored reports whether the file is in a folder that the go command ignores.
func ignored(name string) bool {
	for _, folder := range strings.Split(path.Dir(name), "/") {
		if folder == "testdata" || folder != "." && strings.ContainsAny(folder[:1], "._") {
			return true
		}
	}
	return false
}

// statements returns the number of statements in a file.
func statements(f *ast.File) (n int) {
	ast.Inspect(f, func(x ast.Node) bool {
		if _, ok := x.(ast.Stmt); ok {
			n++
		}
		if _, ok := x.(*ast.BlockStmt); ok {
			n--
		}
		return true
	})
	return n
}

// tree counts the files of a tree, except those in left.
func tree(files fs.FS, left []string) (counts, error) {
	c := counts{}
	return c, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored(name+"/x.go"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return c.add(name, left, func() ([]byte, error) { return fs.ReadFile(files, name) })
	})
}

// archived counts the files of a tar archive, except those in left.
func archived(r io.Reader, left []string) (counts, error) {
	c := counts{}
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := c.add(h.Name, left, func() ([]byte, error) { return io.ReadAll(files) }); err != nil {
			return nil, err
		}
	}
}

// report writes the counts of the packages in or below the folders, and their sums. If there are
// counts before, it writes them next to those now.
func report(w io.Writer, before, now counts, folders []string) {
	names := map[string]bool{}
	for _, c := range []counts{before, now} {
		for name := range c {
			if folder.Among(name, folders) {
				names[name] = true
			}
		}
	}
	a, b := 0, 0
	line := func(name string, x, y int) {
		if before == nil {
			fmt.Fprintf(w, "%-32s %7d\n", name, y)
			return
		}
		fmt.Fprintf(w, "%-32s %7d %7d %s\n", name, x, y, change(x, y))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line(name, before[name], now[name])
		a, b = a+before[name], b+now[name]
	}
	line("total", a, b)
}

// change returns the difference of y from x in percent, as text.
func change(x, y int) string {
	if x == 0 {
		return "    new"
	}
	return fmt.Sprintf("%+6.1f%%", 100*(float64(y)/float64(x)-1))
}

// Command typecheck type-checks packages and their tests for another architecture. It reads
// everything from source, the standard library included, and compiles nothing. It finds what a
// compiler would refuse there, such as a constant that overflows a 32-bit int.
//
//	go run ./internal/tools/typecheck -arch 386 [package ...]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("typecheck: ")
	arch := flag.String("arch", runtime.GOARCH, "architecture, as GOARCH names it")
	flag.Parse()
	packages, err := list(*arch, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	found := check(packages, *arch)
	for _, err := range found {
		fmt.Println(err)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// listed is the go command's description of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // for some import paths in the source, the paths that are meant
	DepOnly         bool              // whether the package matches no pattern and is only a dependency
}

// list returns the packages that match the patterns, their tests and all dependencies, as they are
// on an architecture. Each package follows what it imports.
func list(arch string, patterns []string) ([]listed, error) {
	const fields = "ImportPath,Dir,GoFiles,ImportMap,DepOnly"
	c := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=" + fields}, patterns...)...)
	c.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// imports resolves the imports of one package.
type imports struct {
	done map[string]*types.Package
	as   map[string]string
}

// Import returns a package that has been checked. It implements types.Importer.
func (i imports) Import(name string) (*types.Package, error) {
	if as, ok := i.as[name]; ok {
		name = as
	}
	if p := i.done[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not listed", name)
}

// check type-checks packages in their order and returns the errors of those that are not mere
// dependencies. Function bodies of dependencies are skipped.
func check(packages []listed, arch string) []error {
	var found []error
	fset := token.NewFileSet()
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, l := range packages {
		if strings.HasSuffix(l.ImportPath, ".test") || l.ImportPath == "unsafe" {
			continue // a generated main, and a package without source
		}
		var files []*ast.File
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				found = append(found, err)
				continue
			}
			files = append(files, f)
		}
		config := types.Config{
			Importer:         imports{done, l.ImportMap},
			Sizes:            types.SizesFor("gc", arch),
			IgnoreFuncBodies: l.DepOnly,
			Error: func(err error) {
				if !l.DepOnly {
					found = append(found, err)
				}
			},
		}
		path, _, _ := strings.Cut(l.ImportPath, " ") // "a [b.test]" is a, as the tests of b see it
		done[l.ImportPath], _ = config.Check(path, fset, files, nil)
	}
	return found
}

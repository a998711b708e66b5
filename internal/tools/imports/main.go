// Command imports checks the imports of the module in the current folder against the list next to
// this file. It fails for an import that is not allowed, also in files for other platforms and
// build tags. Its test performs the same check.
package main

import (
	_ "embed"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/gibbsite-go/gibbsite"

// whitelist holds the imports that each package is allowed.
//
//go:embed whitelist
var whitelist string

func main() {
	log.SetFlags(0)
	packages, err := read(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	found := parse(whitelist).violations(packages)
	for _, v := range found {
		fmt.Println(v)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// read returns the imports of each package in a tree, by folder. It omits tests and nested
// modules.
func read(tree fs.FS) (map[string][]string, error) {
	packages := map[string][]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			_, nested := fs.Stat(tree, name+"/go.mod")
			if base := d.Name(); nested == nil || base[0] == '.' || base[0] == '_' || base == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		imports := packages[dir]
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(imports, p) {
				imports = append(imports, p)
			}
		}
		packages[dir] = imports
		return nil
	})
	return packages, err
}

// rules lists the packages that each package may import, by folder or, for packages outside the
// module, by import path.
type rules map[string][]string

// parse parses lines of the form "package : import import …".
func parse(text string) rules {
	r := rules{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if name, imports, ok := strings.Cut(line, ":"); ok {
			r[strings.TrimSpace(name)] = strings.Fields(imports)
		}
	}
	return r
}

// violations returns a line for each import that the rules do not allow.
func (r rules) violations(packages map[string][]string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if support(name) {
			continue
		}
		if _, listed := r[name]; !listed && !laws(name) && !strings.HasPrefix(name, "internal/") {
			found = append(found, fmt.Sprintf("%s: has no line in internal/tools/imports/whitelist", name))
		}
		for _, i := range packages[name] {
			if !r.allowed(name, i) {
				found = append(found, fmt.Sprintf("%s: may not import %s", name, i))
			}
		}
	}
	return found
}

// allowed reports whether the package name may import imported.
func (r rules) allowed(name, imported string) bool {
	own, inside := strings.CutPrefix(imported, module+"/")
	if imported == module {
		own, inside = ".", true
	}
	switch {
	case !inside && imported != "C" && !strings.Contains(strings.Split(imported, "/")[0], "."):
		return true // the standard library
	case !inside:
		own = imported
	case support(own):
		return laws(name)
	case strings.HasPrefix(own, "internal/"):
		return true
	}
	if slices.Contains(r[name], own) {
		return true
	}
	contract := path.Dir(name)
	return laws(name) && (own == contract || slices.Contains(r[contract], own))
}

// support reports whether a package serves only tests or is a program for CI.
func support(name string) bool {
	return name == "internal/conformance" || strings.HasPrefix(name, "internal/tools/") || name == "internal/exact" || strings.HasPrefix(name, "internal/exact/")
}

// laws reports whether a package tests implementations of an interface, as testing/fstest does
// for file systems.
func laws(name string) bool { return strings.HasSuffix(name, "test") }

//go:build ignore

// Command floors counts the floors of the files of every package and looks for
// circles among them. A file stands one floor above the highest file of its
// package that it uses: whose types, functions, methods, fields, variables or
// constants it names. Files that use each other, directly or around a corner,
// form a circle and have no floor.
//
//	go run .ci/floors.go [-v] [package directories]
//
// It reads what builds on linux/amd64, tests left out, and ends with status 1 if
// a package has more than six floors or a circle. With -v it lists the floors,
// and for each circle what its files use of each other.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	module = "github.com/gibbsite-go/gibbsite"
	most   = 6
)

func main() {
	verbose := flag.Bool("v", false, "list floors and the uses inside circles")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = packages()
	}
	w := &world{fset: token.NewFileSet(), known: map[string]*types.Package{}, std: importer.Default()}
	w.context = build.Default
	w.context.GOOS, w.context.GOARCH, w.context.CgoEnabled = "linux", "amd64", false
	bad := false
	for _, dir := range dirs {
		g, err := w.files(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if len(g.names) > 0 && !g.report(dir, *verbose) {
			bad = true
		}
	}
	if bad {
		os.Exit(1)
	}
}

// packages returns the directories of the module with Go files, those of other
// modules and of test data left out.
func packages() []string {
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != "." {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if name := d.Name(); nested == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
		}
		dirs = append(dirs, path)
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return dirs
}

// world type-checks packages of the module from source. What other modules
// declare is left unknown: it is no matter of these files.
type world struct {
	fset    *token.FileSet
	context build.Context
	known   map[string]*types.Package
	std     types.Importer
}

// Import implements types.Importer.
func (w *world) Import(path string) (*types.Package, error) {
	if p := w.known[path]; p != nil {
		return p, nil
	}
	if dir, ok := strings.CutPrefix(path, module); ok {
		p, _, err := w.check(path, filepath.Join(".", dir), nil)
		w.known[path] = p
		return p, err
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return w.std.Import(path)
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	w.known[path] = p
	return p, nil
}

// check parses and type-checks the package in dir.
func (w *world) check(path, dir string, info *types.Info) (*types.Package, []*ast.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if match, err := w.context.MatchFile(dir, name); err != nil || !match {
			continue
		}
		f, err := parser.ParseFile(w.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: w, Error: func(error) {}, IgnoreFuncBodies: info == nil}
	p, _ := config.Check(path, w.fset, files, info) // errors about other modules
	return p, files, nil
}

// graph says which files of a package use which others.
type graph struct {
	names []string                       // without doc.go files that hold no declaration
	uses  map[string]map[string][]string // from, to: what is named
}

// files returns the graph of the package in dir.
func (w *world) files(dir string) (*graph, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	p, files, err := w.check(module+"/"+filepath.ToSlash(dir), dir, info)
	if err != nil {
		return nil, err
	}
	g := &graph{uses: map[string]map[string][]string{}}
	at := func(pos token.Pos) string { return filepath.Base(w.fset.Position(pos).Filename) }
	for _, f := range files {
		if len(f.Decls) > 0 {
			name := at(f.Package)
			g.names = append(g.names, name)
			g.uses[name] = map[string][]string{}
		}
	}
	for id, object := range info.Uses {
		if object.Pkg() != p || !object.Pos().IsValid() {
			continue
		}
		from, to := at(id.Pos()), at(object.Pos())
		if from != to && g.uses[from] != nil && !slices.Contains(g.uses[from][to], id.Name) {
			g.uses[from][to] = append(g.uses[from][to], id.Name)
		}
	}
	return g, nil
}

// circles returns the sets of files that use each other, by Tarjan's algorithm,
// single files included; a set comes after all sets that it uses.
func (g *graph) circles() [][]string {
	var out [][]string
	var stack []string
	number, low := map[string]int{}, map[string]int{}
	var visit func(string)
	visit = func(f string) {
		number[f] = len(number) + 1
		low[f] = number[f]
		stack = append(stack, f)
		for _, to := range g.names {
			if g.uses[f][to] == nil {
				continue
			}
			if number[to] == 0 {
				visit(to)
				low[f] = min(low[f], low[to])
			} else if slices.Contains(stack, to) {
				low[f] = min(low[f], number[to])
			}
		}
		if low[f] == number[f] {
			k := slices.Index(stack, f)
			out = append(out, slices.Clone(stack[k:]))
			stack = stack[:k]
		}
	}
	for _, f := range g.names {
		if number[f] == 0 {
			visit(f)
		}
	}
	return out
}

// report prints the package and says whether it is in order.
func (g *graph) report(dir string, verbose bool) bool {
	floor := map[string]int{}
	top := 0
	var round [][]string
	for _, set := range g.circles() {
		at := 1
		for _, f := range set {
			for to := range g.uses[f] {
				if !slices.Contains(set, to) {
					at = max(at, floor[to]+1)
				}
			}
		}
		for _, f := range set {
			floor[f] = at
		}
		top = max(top, at)
		if len(set) > 1 {
			slices.Sort(set)
			round = append(round, set)
		}
	}
	ok := top <= most && round == nil
	note := ""
	if !ok {
		note = "  want ≤ 6 floors and no circle"
	}
	fmt.Printf("%-28s %3d files %2d floors%s\n", dir, len(g.names), top, note)
	for _, set := range round {
		fmt.Printf("\tcircle: %s\n", strings.Join(set, " "))
		if verbose {
			for _, f := range set {
				for _, to := range set {
					if names := g.uses[f][to]; names != nil {
						slices.Sort(names)
						fmt.Printf("\t\t%s → %s: %s\n", f, to, strings.Join(names, " "))
					}
				}
			}
		}
	}
	if verbose {
		for k := top; k >= 1; k-- {
			var on []string
			for _, f := range g.names {
				if floor[f] == k {
					on = append(on, f)
				}
			}
			fmt.Printf("\tfloor %d: %s\n", k, strings.Join(on, " "))
			if k == 1 {
				continue
			}
			for _, f := range on { // what holds it up
				for to, names := range g.uses[f] {
					if floor[to] == k-1 {
						slices.Sort(names)
						fmt.Printf("\t\t%s → %s: %s\n", f, to, strings.Join(names, " "))
					}
				}
			}
		}
	}
	return ok
}

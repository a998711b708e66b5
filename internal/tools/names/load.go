package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is the go command's description of a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Module                             *struct{ Path string }

	files, tests, xtests []*ast.File
	// type-checked package of the files; nil until it is imported
	base     *types.Package
	checking bool
}

// program holds the packages of the main modules, loaded from source.
type program struct {
	inside   bool // whether packages in internal are analysed
	fset     *token.FileSet
	module   string // path of the module in the loaded folder
	packages map[string]*listed
	// importer of packages outside the modules, from compiler export data
	others  types.Importer
	outside map[string]*types.Package // imported packages outside the modules
	exports map[string]string         // files with the export data of outside packages
	use     func(p *listed, info *types.Info, f *ast.File)
}

// load loads the main modules of the workspace of a folder.
func load(dir string) (*program, error) {
	p := &program{fset: token.NewFileSet(), packages: map[string]*listed{}, outside: map[string]*types.Package{}, exports: map[string]string{}}
	p.others = importer.ForCompiler(p.fset, "gc", func(name string) (io.ReadCloser, error) {
		file := p.exports[name]
		if file == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(file)
	})
	own, err := output(dir, []string{"GOWORK=off"}, "list", "-m")
	if err != nil {
		return nil, err
	}
	p.module = strings.TrimSpace(string(own))
	modules, err := output(dir, nil, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	var patterns []string
	for line := range strings.Lines(string(modules)) {
		patterns = append(patterns, filepath.Join(strings.TrimSpace(line), "..."))
	}
	packages, err := list(dir, nil, append([]string{"-e"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for _, l := range packages {
		p.packages[l.ImportPath] = l
		for _, set := range []struct {
			names []string
			to    *[]*ast.File
		}{{l.GoFiles, &l.files}, {l.TestGoFiles, &l.tests}, {l.XTestGoFiles, &l.xtests}} {
			for _, name := range set.names {
				f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
				if err != nil {
					return nil, err
				}
				*set.to = append(*set.to, f)
			}
		}
	}
	return p, p.export(dir)
}

// export locates the export data of outside packages that the module itself can import. Packages
// that only other modules in its folder can import are omitted, because their uses of this
// module are known without them.
func (p *program) export(dir string) error {
	need := map[string]bool{}
	for _, l := range p.packages {
		for _, name := range slices.Concat(l.Imports, l.TestImports, l.XTestImports) {
			if p.packages[name] == nil && name != "C" && name != "unsafe" {
				need[name] = true
			}
		}
	}
	args := []string{"-e", "-deps", "-export"}
	for name := range need {
		args = append(args, name)
	}
	slices.Sort(args[3:])
	found, err := list(dir, []string{"GOWORK=off"}, args...)
	for _, l := range found {
		p.exports[l.ImportPath] = l.Export
	}
	return err
}

// list runs go list and decodes its output.
func list(dir string, env []string, args ...string) ([]*listed, error) {
	const fields = "ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Module"
	out, err := output(dir, env, append([]string{"list", "-json=" + fields}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		l := new(listed)
		if err := d.Decode(l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// output runs the go command and returns its standard output.
func output(dir string, env []string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

// Import returns a package, type-checked from source if it is in the modules. It implements
// types.Importer.
func (p *program) Import(name string) (*types.Package, error) {
	if name == "unsafe" {
		return types.Unsafe, nil
	}
	l := p.packages[name]
	if l == nil {
		if o := p.outside[name]; o != nil {
			return o, nil
		}
		o, err := p.others.Import(name)
		if err != nil {
			return nil, err
		}
		p.outside[name] = o
		return o, nil
	}
	if l.base == nil {
		if l.checking {
			return nil, fmt.Errorf("%s imports itself", name)
		}
		l.checking = true
		l.base = p.check(l, l.files, l.files, p)
	}
	return l.base, nil
}

// all type-checks every package and its tests.
func (p *program) all() error {
	for name, l := range p.packages {
		base, err := p.Import(name)
		if err != nil {
			return err
		}
		if len(l.tests) > 0 {
			base = p.check(l, slices.Concat(l.files, l.tests), l.tests, p)
		}
		if len(l.xtests) > 0 {
			p.check(l, l.xtests, l.xtests, within{p, name, base})
		}
	}
	return nil
}

// within is an importer that replaces one package by the variant that its tests see.
type within struct {
	types.Importer
	name string
	as   *types.Package
}

func (w within) Import(name string) (*types.Package, error) {
	if name == w.name {
		return w.as, nil
	}
	return w.Importer.Import(name)
}

// check type-checks files and calls p.use for those in shown. If a package cannot be imported,
// only its types are missing.
func (p *program) check(l *listed, files, shown []*ast.File, from types.Importer) *types.Package {
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: from, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(l.ImportPath, p.fset, files, info)
	for _, f := range shown {
		p.use(l, info, f)
	}
	return pkg
}

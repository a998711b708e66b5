// Package conformance checks every part of the module, such as a model or a method, against the
// laws of its kind. Laws are the properties that the public test packages (samplertest, energytest,
// …) check for every implementation of an interface. The package has a registry for each kind:
// methods, models, runners, processes, projectors, languages, rules, denoisers, readers. If a part
// is exported but not registered, a test fails and names it. Registering a part takes one line in
// the registry of its kind. Only tests import this package.
package conformance

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/gibbsite-go/gibbsite"

// Module holds the declarations of the module's public packages, without function bodies. Other
// modules are not loaded. All types of other modules are therefore treated as one type.
type Module struct {
	root     string
	fset     *token.FileSet
	packages map[string]*types.Package // type-checked packages by import path
}

// Load reads the module that contains the working directory.
func Load() (*Module, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for !exists(filepath.Join(dir, "go.work")) {
		up := filepath.Dir(dir)
		if up == dir {
			return nil, fmt.Errorf("conformance: no go.work above the working directory")
		}
		dir = up
	}
	m := &Module{root: dir, fset: token.NewFileSet(), packages: map[string]*types.Package{}}
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if at != dir && (name == "examples" || name == "testdata" || name[0] == '.' || name[0] == '_' || exists(filepath.Join(at, "go.mod"))) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		if p, err := build.ImportDir(at, 0); err == nil && len(p.GoFiles) > 0 {
			_, err = m.Import(path.Join(module, filepath.ToSlash(rel)))
			return err
		}
		return nil
	})
	return m, err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Import returns a package of the module, or an empty one for other modules. It implements
// types.Importer.
func (m *Module) Import(name string) (*types.Package, error) {
	if p := m.packages[name]; p != nil {
		return p, nil
	}
	rel, own := strings.CutPrefix(name, module)
	if !own {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		m.packages[name] = p
		return p, nil
	}
	dir := filepath.Join(m.root, filepath.FromSlash(rel))
	source, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, f := range source.GoFiles {
		file, err := parser.ParseFile(m.fset, filepath.Join(dir, f), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	cfg := types.Config{Importer: m, IgnoreFuncBodies: true, Error: func(error) {}} // of what other modules declare
	p, _ := cfg.Check(name, m.fset, files, nil)
	m.packages[name] = p
	return p, nil
}

// sites lists the site types with which generic types are instantiated.
var sites = []types.Type{types.Typ[types.Int32], types.Typ[types.Float32]}

// Implementing returns the exported types outside internal/… that implement an interface of the
// module, by value or by pointer. The names, such as "mcmc.Gibbs", are sorted. If the type of a
// site is a type parameter, a match for tokens (int32) or for reals (float32) is enough.
func (m *Module) Implementing(pkg, name string) ([]string, error) {
	p := m.packages[path.Join(module, pkg)]
	if p == nil {
		return nil, fmt.Errorf("conformance: no package %s", pkg)
	}
	object := p.Scope().Lookup(name)
	if object == nil {
		return nil, fmt.Errorf("conformance: no %s.%s", pkg, name)
	}
	var wanted []*types.Interface
	for _, t := range instances(object.Type()) {
		i, ok := t.Underlying().(*types.Interface)
		if !ok {
			return nil, fmt.Errorf("conformance: %s.%s is no interface", pkg, name)
		}
		wanted = append(wanted, i)
	}
	return m.Types(func(t types.Type) bool {
		return slices.ContainsFunc(wanted, func(i *types.Interface) bool {
			return types.Implements(t, i) || types.Implements(types.NewPointer(t), i)
		})
	}), nil
}

// Having returns the exported types outside internal/… that have all of the given methods, with
// any signature. It leaves out interfaces.
func (m *Module) Having(methods ...string) []string {
	return m.Types(func(t types.Type) bool {
		set := types.NewMethodSet(types.NewPointer(t))
		return !slices.ContainsFunc(methods, func(name string) bool { return set.Lookup(nil, name) == nil })
	})
}

// Types returns the exported types outside internal/… for which the function fit returns true. It
// leaves out interfaces. For a generic type, one instance that fits is enough.
func (m *Module) Types(fit func(t types.Type) bool) (names []string) {
	for name, p := range m.packages {
		if !strings.HasPrefix(name, module) || strings.Contains(name, "/internal/") {
			continue
		}
		for _, s := range p.Scope().Names() {
			object, ok := p.Scope().Lookup(s).(*types.TypeName)
			if !ok || !object.Exported() || object.IsAlias() || types.IsInterface(object.Type()) {
				continue
			}
			if slices.ContainsFunc(instances(object.Type()), fit) {
				names = append(names, p.Name()+"."+s)
			}
		}
	}
	slices.Sort(names)
	return names
}

// instances returns the type itself, or the instances of a generic type for tokens and for
// reals.
func instances(t types.Type) []types.Type {
	named, ok := t.(*types.Named)
	if !ok || named.TypeParams().Len() == 0 {
		return []types.Type{t}
	}
	if named.TypeParams().Len() > 1 {
		return nil
	}
	var all []types.Type
	for _, s := range sites {
		if i, err := types.Instantiate(nil, named, []types.Type{s}, false); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// Missing returns a line for each of the wanted types that has no entry in a registry. An entry is
// the name of a type, such as "mcmc.Gibbs", optionally followed by a space and a description.
func Missing(wanted, entries []string, what, file string) (lines []string) {
	have := map[string]bool{}
	for _, e := range entries {
		name, _, _ := strings.Cut(e, " ")
		have[name] = true
	}
	for _, w := range wanted {
		if !have[w] {
			lines = append(lines, fmt.Sprintf("conformance: %s implements %s and is not registered in internal/conformance/%s", w, what, file))
		}
	}
	return lines
}

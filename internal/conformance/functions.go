package conformance

import (
	"go/ast"
	"go/parser"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Making returns the names of functions that make implementations of the interface with the given
// name in package pkg, such as "constraint.Union". It lists exported functions outside internal/…
// whose first result is an interface or an unexported type. Such functions need an entry in a
// registry, as exported types do.
func (m *Module) Making(pkg, name string) (names []string, err error) {
	wanted, err := m.interfaces(pkg, name)
	if err != nil {
		return nil, err
	}
	for _, p := range m.public() {
		for _, s := range p.Scope().Names() {
			f, ok := p.Scope().Lookup(s).(*types.Func)
			if !ok || !f.Exported() || f.Signature().Results().Len() == 0 {
				continue
			}
			result := types.Unalias(f.Signature().Results().At(0).Type())
			to := result
			if at, ok := result.(*types.Pointer); ok {
				to = types.Unalias(at.Elem())
			}
			named, ok := to.(*types.Named)
			if !ok || named.Obj().Exported() && !types.IsInterface(named) {
				continue
			}
			if slices.ContainsFunc(wanted, func(i *types.Interface) bool { return types.Implements(result, i) }) {
				names = append(names, p.Name()+"."+s)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// interfaces returns the instances of an interface of the module.
func (m *Module) interfaces(pkg, name string) (all []*types.Interface, err error) {
	if _, err := m.Implementing(pkg, name); err != nil {
		return nil, err // no such package or interface
	}
	for _, t := range instances(m.packages[path.Join(module, pkg)].Scope().Lookup(name).Type()) {
		all = append(all, t.Underlying().(*types.Interface))
	}
	return all, nil
}

// public returns the packages outside internal/….
func (m *Module) public() (all []*types.Package) {
	for name, p := range m.packages {
		if strings.HasPrefix(name, module) && !strings.Contains(name, "/internal/") {
			all = append(all, p)
		}
	}
	return all
}

// Reading returns the exported functions outside internal/… with an io.Reader or io.ReaderAt
// parameter, such as "read.UAI". A Module contains no declarations of the standard library, so
// Reading looks for the names of these types in the source text.
func (m *Module) Reading() (names []string, err error) {
	for _, p := range m.public() {
		dir := filepath.Join(m.root, filepath.FromSlash(strings.TrimPrefix(p.Path(), module)))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(m.fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range f.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && slices.ContainsFunc(f.Type.Params.List, reads) {
					names = append(names, p.Name()+"."+f.Name.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// reads reports whether a parameter is an io.Reader or io.ReaderAt.
func reads(p *ast.Field) bool {
	s, ok := p.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "io" && (s.Sel.Name == "Reader" || s.Sel.Name == "ReaderAt")
}

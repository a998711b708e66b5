package conformance_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// moduleRoot is where the scan of exported names begins.
const moduleRoot = "../.."

// source is what the module declares, by "package path.Name".
type source struct {
	methods  map[string][]string // of every type, interfaces included
	embeds   map[string][]string // types that a type embeds, by the same names
	exported map[string]bool     // types
	returns  map[string][]string // results of exported functions, by the same names
	takes    map[string][]string // their parameters
	concrete map[string]bool     // types that are no interfaces
}

// declared reads the source of the module once, tests, other modules, internal
// packages and packages of laws left out.
var declared = sync.OnceValues(func() (*source, error) {
	s := &source{map[string][]string{}, map[string][]string{}, map[string]bool{}, map[string][]string{}, map[string][]string{}, map[string]bool{}}
	err := filepath.WalkDir(moduleRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != moduleRoot {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasSuffix(name, "test") || strings.HasPrefix(name, ".") ||
				name == "internal" || name == "testdata" {
				return filepath.SkipDir
			}
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(moduleRoot, filepath.Dir(path))
		s.file(filepath.ToSlash(dir), f)
		return err
	})
	return s, err
})

// file notes what a file declares.
func (s *source) file(dir string, f *ast.File) {
	const module = "github.com/gibbsite-go/gibbsite/"
	imports := map[string]string{}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = strings.TrimPrefix(path, module)
	}
	// named returns the name of a type, "" for what has none.
	var named func(e ast.Expr) string
	named = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.StarExpr:
			return named(e.X)
		case *ast.IndexExpr:
			return named(e.X)
		case *ast.Ident:
			return dir + "." + e.Name
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok {
				return imports[x.Name] + "." + e.Sel.Name
			}
		}
		return ""
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			switch {
			case decl.Recv != nil:
				of := named(decl.Recv.List[0].Type)
				s.methods[of] = append(s.methods[of], forms(decl.Name.Name, decl.Type, named)...)
			case decl.Name.IsExported() && decl.Type.Results != nil:
				of := dir + "." + decl.Name.Name
				s.returns[of] = append(s.returns[of], named(decl.Type.Results.List[0].Type))
				for _, f := range decl.Type.Params.List {
					s.takes[of] = append(s.takes[of], named(f.Type))
				}
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					s.declares(dir+"."+t.Name.Name, t, named)
				}
			}
		}
	}
}

// forms returns what a method is asked for by: its name, also with the number of its
// parameters, "Bind/2", and with the name of its first result, "Bind>Updater".
func forms(name string, f *ast.FuncType, named func(ast.Expr) string) []string {
	all := []string{name, fmt.Sprintf("%s/%d", name, f.Params.NumFields())}
	if f.Results != nil {
		result := named(f.Results.List[0].Type)
		all = append(all, name+">"+result[strings.LastIndexByte(result, '.')+1:])
	}
	return all
}

// declares notes a type.
func (s *source) declares(name string, t *ast.TypeSpec, named func(ast.Expr) string) {
	var fields *ast.FieldList
	s.exported[name] = t.Name.IsExported()
	switch e := t.Type.(type) {
	case *ast.InterfaceType:
		for _, m := range e.Methods.List {
			for _, n := range m.Names {
				s.methods[name] = append(s.methods[name], forms(n.Name, m.Type.(*ast.FuncType), named)...)
			}
		}
		fields = e.Methods
	case *ast.StructType:
		s.concrete[name] = true
		fields = e.Fields
	default:
		if s.concrete[name] = !t.Assign.IsValid(); t.Assign.IsValid() { // another name is no other part
			s.embeds[name] = append(s.embeds[name], named(e))
		}
	}
	if fields == nil {
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			s.embeds[name] = append(s.embeds[name], named(f.Type))
		}
	}
}

// has reports whether a type has a method, of its own or by what it embeds.
func (s *source) has(name, method string, depth int) bool {
	return slices.Contains(s.methods[name], method) ||
		depth < 8 && slices.ContainsFunc(s.embeds[name], func(e string) bool { return s.has(e, method, depth+1) })
}

func (s *source) hasAll(name string, methods []string) bool {
	return !slices.ContainsFunc(methods, func(m string) bool { return !s.has(name, m, 0) })
}

// implementers returns the exported types of the module with all the methods (see
// forms), and the exported functions that return such a type where it is an interface
// or not exported.
func implementers(t *testing.T, methods ...string) (names []string) {
	t.Helper()
	s, err := declared()
	if err != nil {
		t.Fatal(err)
	}
	for name, own := range s.concrete {
		if own && s.exported[name] && s.hasAll(name, methods) {
			names = append(names, name)
		}
	}
	for name, results := range s.returns {
		for _, r := range results {
			own, known := s.concrete[r]
			if s.hasAll(r, methods) && (!known || own && !s.exported[r]) { // no other name of one either
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// takers returns the exported functions that have a parameter of one of the types, by
// package path and name: "io.Reader".
func takers(t *testing.T, types ...string) (names []string) {
	t.Helper()
	s, err := declared()
	if err != nil {
		t.Fatal(err)
	}
	for name, params := range s.takes {
		if slices.ContainsFunc(params, func(p string) bool { return slices.Contains(types, p) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// complete fails with one line for every part of the module that is not registered,
// and for what is registered and is none. except are parts that a kind leaves out,
// each with the reason.
func complete(t *testing.T, kind, file string, registered map[string]bool, except map[string]string, methods ...string) {
	t.Helper()
	completes(t, kind, file, registered, except, implementers(t, methods...))
}

// completes is complete for parts that were found in another way.
func completes(t *testing.T, kind, file string, registered map[string]bool, except map[string]string, found []string) {
	t.Helper()
	for _, name := range found {
		if _, ok := except[name]; !ok && !registered[name] {
			t.Errorf("%s is a %s that is not registered: add a line to internal/conformance/%s", name, kind, file)
		}
	}
	for name := range registered {
		if !slices.Contains(found, name) {
			t.Errorf("%s is registered as a %s in internal/conformance/%s, and the module has none", name, kind, file)
		}
	}
	for name := range except {
		if !slices.Contains(found, name) {
			t.Errorf("%s is left out of internal/conformance/%s, and the module has none", name, file)
		}
	}
}

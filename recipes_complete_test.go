package gibbsite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recipeless are types with the methods of a set that no user writes down: they
// are targets, made by constructors, that can judge their own draws.
var recipeless = []string{
	"dual.Lagrangian", "dual.RealLagrangian", "dual/unlearn.Erasure", "dual/unlearn.Experts",
	"dual/pdi.GibbsScore", "dual/pdi.Mixture", "dual/pdi/network.Predictor",
}

// Every recipe of the module is in the test above: an exported struct with one of
// the methods that make it one must be registered.
func TestEveryRecipeIsRegistered(t *testing.T) {
	registered := map[string]bool{}
	for _, k := range kinds {
		for _, r := range k.recipes() {
			registered[r.name] = true
		}
	}
	found := recipesOf(t)
	require.Greater(t, len(found), 40)
	for _, name := range found {
		if !slices.Contains(recipeless, name) {
			require.True(t, registered[name], "%s is a recipe and not registered", name)
		}
		delete(registered, name)
	}
	require.Empty(t, registered, "registered, but no recipe of the module")
}

// recipesOf reads the module for exported structs with the methods of a recipe,
// a language, a set or a schedule.
func recipesOf(t *testing.T) (names []string) {
	marks := [][]string{
		{"Kernel"}, {"Bind"}, {"Compile"}, {"States", "Start", "Next", "Accepting"},
		{"Len", "Violation"}, {"Len", "Value", "Pull"}, {"Alpha", "Time"},
	}
	structs, has := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (name == "examples" || name == "internal" || name == "testdata" || name[0] == '.') {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				for _, s := range decl.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						if _, ok := s.Type.(*ast.StructType); ok {
							structs[dir+"."+s.Name.Name] = true
						}
					}
				}
			case *ast.FuncDecl:
				if decl.Recv != nil {
					of := dir + "." + receiver(decl.Recv.List[0].Type)
					has[of] = append(has[of], decl.Name.Name)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	for name := range structs {
		if slices.ContainsFunc(marks, func(all []string) bool {
			return !slices.ContainsFunc(all, func(m string) bool { return !slices.Contains(has[name], m) })
		}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

package conformance_test

import (
	"go/ast"
	"slices"
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
	for _, k := range recipeKinds {
		for _, r := range k.recipes() {
			registered[r.name] = true
		}
	}
	found := recipesOfModule(t)
	require.Greater(t, len(found), 40)
	for _, name := range found {
		if !slices.Contains(recipeless, name) {
			require.True(t, registered[name], "%s is a recipe and not registered", name)
		}
		delete(registered, name)
	}
	require.Empty(t, registered, "registered, but no recipe of the module")
}

// recipesOfModule reads the module for exported structs with the methods of a recipe,
// a language, a set or a schedule.
func recipesOfModule(t *testing.T) (names []string) {
	marks := [][]string{
		{"Kernel"}, {"Bind"}, {"Compile"}, {"States", "Start", "Next", "Accepting"},
		{"Len", "Violation"}, {"Len", "Value", "Pull"}, {"Alpha", "Time"},
	}
	structs, has := map[string]bool{}, map[string][]string{}
	publicFiles(t, func(dir string, f *ast.File) {
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
					of := dir + "." + receiverName(decl.Recv.List[0].Type)
					has[of] = append(has[of], decl.Name.Name)
				}
			}
		}
	})
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

// receiverName returns the name of a receiver's type.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

package check_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// anonymous returns the lines of a file that assert an interface without a name, in
// type switches, too. A method of another signature is then passed over in silence.
func anonymous(path string, src any) (lines []int, err error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	look := func(e ast.Expr) {
		if i, ok := e.(*ast.InterfaceType); ok && len(i.Methods.List) > 0 {
			lines = append(lines, files.Position(i.Pos()).Line)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			look(n.Type)
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					look(e)
				}
			}
		case *ast.IndexExpr: // errors.AsType[interface{…}], energy.As[interface{…}]
			look(n.Index)
		}
		return true
	})
	return lines, nil
}

// No file of any module asserts an interface that has no name.
func TestAssertionsAreNamed(t *testing.T) {
	const root = "../.."
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		seen++
		lines, err := anonymous(path, nil)
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		for _, line := range lines {
			t.Errorf("%s:%d: name the interface, and assert at its implementers that they have it", name, line)
		}
		return err
	}))
	assert.Greater(t, seen, 500)
}

func TestAnonymousAssertionsAreSeen(t *testing.T) {
	lines, err := anonymous("x.go", `package x
func f(v any) {
	_ = v.(interface{ Workers(n int) })
	switch v.(type) {
	case interface {
		Warning() string
	}:
	case error, interface{ Name() string }:
	}
	_ = v.(interface{}) // says nothing
	_, _ = as[interface{ Name() string }](v)
	_ = v.(error)
}
`)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 5, 8, 11}, lines)
}

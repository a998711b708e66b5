package conformance_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// sources are the functions of the tests of this package, by name.
var sources = sync.OnceValue(func() map[string]*ast.FuncDecl {
	all := map[string]*ast.FuncDecl{}
	for _, name := range exact.Must(filepath.Glob("*_test.go")) {
		f := exact.Must(parser.ParseFile(sourceFiles, name, nil, parser.SkipObjectResolution))
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				all[f.Name.Name] = f
			}
		}
	}
	return all
})

var sourceFiles = token.NewFileSet()

// source returns how entry k of a registry is made: the expression after its name in the
// list that the function returns, and the statements before it that define what the
// expression uses.
func source(function string, k int) (before []string, expression string) {
	f := sources()[function]
	if f == nil {
		return nil, fmt.Sprintf("%s()[%d]", function, k)
	}
	last, ok := f.Body.List[len(f.Body.List)-1].(*ast.ReturnStmt)
	if !ok {
		return nil, fmt.Sprintf("%s()[%d]", function, k)
	}
	list, ok := last.Results[0].(*ast.CompositeLit)
	if !ok || k >= len(list.Elts) {
		return nil, fmt.Sprintf("%s()[%d]", function, k)
	}
	entry := list.Elts[k].(*ast.CompositeLit).Elts[1]
	var used []ast.Stmt
	names := identifiers(entry)
	for _, s := range slices.Backward(f.Body.List) {
		if d, ok := s.(*ast.AssignStmt); ok && d.Tok == token.DEFINE && slices.ContainsFunc(d.Lhs, func(e ast.Expr) bool { return names[e.(*ast.Ident).Name] }) {
			used = append(used, s)
			for _, e := range d.Rhs {
				for name := range identifiers(e) {
					names[name] = true
				}
			}
		}
	}
	slices.Reverse(used)
	for _, s := range used {
		before = append(before, printed(s))
	}
	return before, printed(entry)
}

// identifiers are the names in a piece of source.
func identifiers(n ast.Node) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok {
			all[i.Name] = true
		}
		return true
	})
	return all
}

func printed(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, sourceFiles, n); err != nil {
		return err.Error()
	}
	return b.String()
}

// listing collects the statements of a program.
type listing struct{ lines []string }

// define adds the definition of a variable as entry k of a registry.
func (l *listing) define(name, function string, k int) {
	before, e := source(function, k)
	for _, s := range append(before, name+" := "+e) {
		if !slices.Contains(l.lines, s) {
			l.lines = append(l.lines, s)
		}
	}
}

func (l *listing) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *listing) String() string {
	return "\t" + strings.ReplaceAll(strings.Join(l.lines, "\n"), "\n", "\n\t") + "\n"
}

// The program of a combination has the source of its parts and of what they use.
func TestSource(t *testing.T) {
	before, e := source("methodEntries", 10)
	require.Equal(t, []string{"few := constraint.Count{Levels: []int32{1}, Min: 1, Max: 2}"}, before)
	require.Equal(t, "mcmc.DMALA{StepSize: 1, Within: few}", e)
	require.Equal(t, "mcmc.DMALA within a language", methodEntries()[10].name)
	_, e = source("nothing", 2)
	require.Equal(t, "nothing()[2]", e)
}

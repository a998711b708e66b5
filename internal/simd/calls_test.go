package simd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bounds are the constants that bound one call of assembly, with the nanoseconds
// that a term takes at most (on the slowest machine measured, with AVX2).
var bounds = map[string]struct {
	terms int
	each  float64
}{
	"runGroups":     {runGroups * GroupWords, 1},
	"runTerms":      {runTerms, 2},
	"joinTerms":     {joinTerms, 20}, // with up to seven neighbours, which simd.GraphBits allows
	"argMaxTerms":   {argMaxTerms, 0.1},
	"runRowTerms":   {runRowTerms, 0.2},
	"foldTerms":     {foldTerms, 0.2},
	"pickTerms":     {pickTerms, 0.05},
	"polarTerms":    {polarTerms, 5},
	"segmentEnds":   {segmentEnds, 1},
	"sparseTerms":   {sparseTerms, 1},
	"scratchTerms":  {scratchTerms, 2},
	"panelDepth":    {panelDepth * panelWidth * 12, 0.25}, // the tallest tile
	"rowDepth":      {rowDepth * 128, 0.1},
	"shortRow":      {shortRow, 2},
	"softplusBlock": {softplusBlock, 2},
	"perCall":       {scratchTerms, 2},
	"maxBits":       {maxBits, 1},
	"spreadTerms":   {spreadTerms, 0.5},
	"nearTerms":     {nearTerms, 5},
	"byteLanes":     {byteLanes, 20},
	"visitTerms":    {visitTerms, 1},
	"jointTerms":    {jointTerms, 200},
	"choiceGroups":  {choiceGroups << quad * tableWidth, 1},
	"choiceRun":     {choiceRun * 25 * tableWidth, 0.05},
	"choiceStates":  {choiceStates * tableWidth, 1},
	"fixedPairs":    {fixedPairs * fixedHeight * 2 * fixedColumns, 0.05},
	"fixedHeight":   {fixedHeight * 2 * fixedColumns, 1},
	"chainTerms":    {chainTerms, 0.5},
	"forestTerms":   {forestTerms, 10},
	"RowNear":       {RowNear, 5},
	"sumTerms":      {sumTerms, 5},
}

// unbounded are functions that call assembly with a length that their caller
// has bounded already, or a fixed one.
const unbounded = " flipBlock flipLogProbBlock pack packTransposed gemmTile gemmEdge gemmRowPanels softmaxPairs weightPairs pickRows pickEights "

// TestCallsAreShort: a call in assembly cannot be stopped by the scheduler. It is
// made from functions that are not inlined only, whose prologue is where a
// waiting garbage collector stops them. Either they look at one of the bounds, none
// of which is more than 60 µs of work, or those that call them do.
func TestCallsAreShort(t *testing.T) {
	for name, b := range bounds {
		assert.LessOrEqual(t, float64(b.terms)*b.each, 60e3, "%s: %d terms of %v ns", name, b.terms, b.each)
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var written []string
	hand, looks := map[string]*ast.FuncDecl{}, map[string]map[string]bool{}
	for _, file := range files {
		switch {
		case strings.HasSuffix(file, "_test.go"):
		case strings.HasSuffix(file, "_others.go"): // no assembly
		case strings.HasPrefix(file, "kernels_"):
			written = append(written, file)
		default:
			functions(t, file, hand, looks)
		}
	}
	checked := 0
	for _, file := range written {
		bodies := map[string]*ast.FuncDecl{}
		functions(t, file, bodies, looks)
		for name, fn := range bodies {
			if fn.Body == nil {
				for f := range hand {
					assert.False(t, looks[f][name], "%s calls %s", f, name)
				}
				continue
			}
			for f, other := range bodies {
				if other.Body == nil && looks[name][f] {
					assert.Contains(t, text(fn.Doc), "//go:noinline", "%s calls %s and may be inlined", name, f)
				}
			}
			if !strings.Contains(text(fn.Doc), "//go:noinline") || bounded(looks[name]) {
				continue
			}
			callers := maps.Clone(hand)
			maps.Copy(callers, bodies)
			for f := range callers {
				if looks[f][name] && f != name && !strings.Contains(unbounded, " "+f+" ") {
					checked++
					assert.True(t, bounded(looks[f]), "%s calls %s with a length that nothing bounds", f, name)
				}
			}
		}
	}
	assert.Greater(t, checked, 40)
}

// functions adds the functions of a file, and the names that each looks at.
func functions(t *testing.T, file string, bodies map[string]*ast.FuncDecl, looks map[string]map[string]bool) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			name = file + " " + name
		}
		bodies[name], looks[name] = fn, map[string]bool{}
		ast.Inspect(fn, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id != fn.Name {
				looks[name][id.Name] = true
			}
			return true
		})
	}
}

func text(doc *ast.CommentGroup) (s string) {
	if doc != nil {
		for _, c := range doc.List {
			s += c.Text + "\n"
		}
	}
	return s
}

func bounded(names map[string]bool) bool {
	for b := range bounds {
		if names[b] {
			return true
		}
	}
	return false
}

//go:build amd64 && !purego

package simd

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	"RowNear":       {RowNear, 5},
	"sumTerms":      {sumTerms, 5},
}

// unbounded are functions that call assembly with a length that their caller
// has bounded already, or a fixed one.
const unbounded = " gemmTile gemmEdge gemmRowPanels "

// TestCallsAreShort: a call in assembly cannot be stopped by the scheduler. It is
// made from functions that are not inlined only, whose prologue is where a
// waiting garbage collector stops them, and those are called with lengths cut by
// one of the bounds, none of which is more than 60 µs of work.
func TestCallsAreShort(t *testing.T) {
	for name, b := range bounds {
		assert.LessOrEqual(t, float64(b.terms)*b.each, 60e3, "%s: %d terms of %v ns", name, b.terms, b.each)
	}
	files, err := filepath.Glob("*_amd64.go")
	require.NoError(t, err)
	shared, err := filepath.Glob("backend_assembly*.go")
	require.NoError(t, err)
	files = append(files, shared...)
	assembly, entries := map[string]bool{}, map[string]bool{}
	bodies := map[string]*ast.FuncDecl{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Body == nil {
				assembly[fn.Name.Name] = true
				continue
			}
			bodies[fn.Name.Name] = fn
			if fn.Doc != nil {
				for _, c := range fn.Doc.List {
					if c.Text == "//go:noinline" {
						entries[fn.Name.Name] = true
					}
				}
			}
		}
	}
	require.Greater(t, len(assembly), 40)
	checked := 0
	for name, fn := range bodies {
		used := map[string]bool{}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
		for f := range assembly {
			assert.False(t, used[f] && !entries[name], "%s calls %s and may be inlined", name, f)
		}
		for f := range entries {
			if !used[f] || f == name || entries[name] || strings.Contains(unbounded, " "+name+" ") {
				continue
			}
			checked++
			bounded := false
			for b := range bounds {
				bounded = bounded || used[b]
			}
			assert.True(t, bounded, "%s calls %s with a length that nothing bounds", name, f)
		}
	}
	assert.Greater(t, checked, 20)
}

package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The graphs have the numbers of edges of the files of the second DIMACS challenge or, for
// Keller, those of regular graphs of degrees 171 and 776; and their largest cliques are found.
func TestFamilies(t *testing.T) {
	edges := []int{20864, 434176, 5460, 107880, 256 * 171 / 2, 1024 * 776 / 2}
	for k, f := range families() {
		got := 0
		for i := range f.nodes {
			for j := range i {
				if f.adjacent(i, j) {
					got++
				}
			}
		}
		assert.Equal(t, edges[k], got, f.name)
		set, _, err := independent(t.Context(), f.nodes, func(i, j int) bool { return !f.adjacent(i, j) }, 2, f.largest)
		require.NoError(t, err)
		assert.Len(t, set, f.largest, f.name)
		for at, i := range set {
			for _, j := range set[:at] {
				assert.True(t, f.adjacent(i, j), "%s: %d, %d", f.name, i, j)
			}
		}
	}
}

func TestSets(t *testing.T) {
	for _, args := range [][]string{{"-sets", "0"}, {"-sets", "2", "-anneal"}, {"-sets", "2", "-graph", "G1"}} {
		_, err := parse(args)
		assert.ErrorContains(t, err, "-sets")
	}
	if testing.Short() {
		t.Skip("256 rounds")
	}
	o, err := parse([]string{"-sets", "1"})
	require.NoError(t, err)
	r, err := run(t.Context(), o)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, r.Sets.Random.Least, 43)
	assert.Contains(t, r.String(), "independent sets of 1 random graphs")
	b, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(b), `"random":{"graphs":1,`)
}

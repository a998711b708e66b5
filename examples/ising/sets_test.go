package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
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

// The graphs have the numbers of edges that they should have, and the cuts of small ones are as large
// as the largest, by enumeration.
func TestCuts(t *testing.T) {
	for _, args := range [][]string{{"-cuts", "0"}, {"-cuts", "2", "-sets", "2"}, {"-cuts", "2", "-bias"}} {
		_, err := parse(args)
		assert.ErrorContains(t, err, "want ≥ 1, and one of -sets and -cuts")
	}
	r := rand.New(rand.NewPCG(1, 2))
	assert.Len(t, barabasiAlbert(100, r), 4*96)
	assert.InDelta(t, 0.15*300*299/2, len(erdosRenyi(300, r)), 5*math.Sqrt(0.15*0.85*300*299/2))
	for _, edges := range [][]model.Edge{barabasiAlbert(12, r), erdosRenyi(12, r)} {
		largest := 0
		for x := range 1 << 12 {
			cut := 0
			for _, e := range edges {
				cut += (x>>e.I ^ x>>e.J) & 1
			}
			largest = max(largest, cut)
		}
		cut, _, err := largestCut(t.Context(), 12, edges, 1)
		require.NoError(t, err)
		assert.Equal(t, largest, cut)
	}
	s := cutSizes{{Family: "family", Least: 64, Most: 75, Graphs: 2, Edges: 395, Cut: 278, Share: 0.70380, SE: 0.001}}
	assert.Regexp(t, `family +64–75 +395\.0 +278\.0 +0\.7038 +0\.0010`, s.String())
}

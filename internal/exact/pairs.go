package exact

import (
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Pairs checks that an energy.Pairwise model has the energies of its pairs, up to a
// constant, on every state.
func (c *Checker) Pairs(t Test) {
	t.Helper()
	m, ok := energy.As[energy.Pairwise](c.Model)
	if !ok {
		return
	}
	start, adj, weight, field, ok := m.Pairs()
	if !ok {
		return
	}
	sites, levels := c.Model.Shape()
	require.Equal(t, 2, levels, "levels of a model of pairs")
	require.Len(t, field, sites)
	require.Len(t, start, sites+1)
	require.Len(t, adj, int(start[sites]))
	require.Len(t, weight, len(adj))
	zero := c.Brute(make([]int32, sites))
	for _, x := range States(sites, levels) {
		twice := 0.0
		for i, v := range x {
			twice += 2 * field[i] * float64(v)
			for k := start[i]; k < start[i+1]; k++ {
				require.NotEqual(t, int32(i), adj[k])
				require.True(t, k == start[i] || adj[k-1] < adj[k], "not ascending")
				twice += weight[k] * float64(v*x[adj[k]])
			}
		}
		c.Near(t, c.Brute(x)-zero, twice/2, 2*c.Slack, "energy of pairs", x)
	}
}

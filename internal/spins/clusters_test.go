package spins

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// exchanged returns the sites of a chain that an exchange with the given marks moves: the clusters of
// the marked sites, or the other differing sites if the clusters have more than half of all sites.
func exchanged(from Layout, x, y []int32, seeds []int) []bool {
	in, n := make([]bool, len(x)), 0
	var mark func(i int)
	mark = func(i int) {
		if in[i] || x[i] == y[i] {
			return
		}
		in[i] = true
		n++
		for _, j := range from.Adj[from.Start[i]:from.Start[i+1]] {
			mark(int(j))
		}
	}
	for _, i := range seeds {
		mark(i)
	}
	if 2*n > len(x) {
		for i := range in {
			in[i] = x[i] != y[i] && !in[i]
		}
	}
	return in
}

// Every chain of every pair exchanges its own clusters, and no other site changes.
func TestClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	const all = simd.ChainBits
	for _, sites := range []int{1, 2, 7, 60, 300} {
		from := random(r, sites)
		g := NewGraph(from)
		w := g.NewClusters()
		for _, pairs := range []int{1, ClusterPairs, 5} {
			both, want := make([][2]*Chains, pairs), make([][2][]int32, pairs)
			for p := range both {
				for j := range both[p] {
					want[p][j] = lattice(r, all*sites)
					both[p][j] = g.NewChains()
					both[p][j].Pack(want[p][j])
				}
			}
			w.Compare(both)
			for p := range both {
				x, y := want[p][0], want[p][1]
				for s := range all {
					own, other := x[s*sites:][:sites], y[s*sites:][:sites]
					var seeds []int
					for range r.IntN(3) {
						i := r.IntN(sites)
						require.Equal(t, own[i] != other[i], w.Seed(p, s, i))
						seeds = append(seeds, i)
					}
					moved := 0
					for i, in := range exchanged(from, own, other, seeds) {
						if in {
							own[i], other[i] = other[i], own[i]
							moved++
						}
					}
					require.LessOrEqual(t, 2*moved, sites)
				}
			}
			w.Grow()
			w.Exchange()
			got := make([]int32, all*sites)
			for p := range both {
				for j := range both[p] {
					both[p][j].Spread(got)
					require.Equal(t, want[p][j], got, "%d sites, pair %d", sites, p)
				}
			}
		}
	}
}

func TestClustersRefusePairs(t *testing.T) {
	g := NewGraph(random(rand.New(rand.NewPCG(1, 1)), 3))
	w := g.NewClusters()
	for _, pairs := range []int{0, ClusterPairs + 1} {
		require.Panics(t, func() { w.Compare(make([][2]*Chains, pairs)) })
	}
	w.Compare([][2]*Chains{{g.NewChains(), g.NewChains()}})
	for _, pair := range []int{-1, 1, ClusterPairs} {
		require.Panics(t, func() { w.Seed(pair, 0, 0) })
	}
}

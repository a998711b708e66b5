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
		for _, pairs := range []int{1, 5, ClusterPairs} {
			w.Clear()
			a, b := make([]*Chains, pairs), make([]*Chains, pairs)
			wantA, wantB := make([][]int32, pairs), make([][]int32, pairs)
			for p := range pairs {
				x, y := lattice(r, all*sites), lattice(r, all*sites)
				a[p], b[p] = g.NewChains(), g.NewChains()
				a[p].Pack(x)
				b[p].Pack(y)
				w.Compare(p, a[p], b[p])
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
				wantA[p], wantB[p] = x, y
			}
			w.Grow()
			got := make([]int32, all*sites)
			for p := range pairs {
				w.Exchange(p, a[p], b[p])
				a[p].Spread(got)
				require.Equal(t, wantA[p], got, "%d sites, pair %d", sites, p)
				b[p].Spread(got)
				require.Equal(t, wantB[p], got, "%d sites, pair %d", sites, p)
			}
		}
	}
}

func TestClustersRefuseAPair(t *testing.T) {
	g := NewGraph(random(rand.New(rand.NewPCG(1, 1)), 3))
	w, a, b := g.NewClusters(), g.NewChains(), g.NewChains()
	for _, pair := range []int{-1, ClusterPairs} {
		require.Panics(t, func() { w.Compare(pair, a, b) })
		require.Panics(t, func() { w.Seed(pair, 0, 0) })
		require.Panics(t, func() { w.Exchange(pair, a, b) })
	}
}

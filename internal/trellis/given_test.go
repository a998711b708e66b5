package trellis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// given returns an automaton's graph, an accepted sequence, and a table of random weights in which
// every n-th site has only the token of that sequence.
func given(tb testing.TB, sites, levels, states, classes, n int) (g *Graph, x []int32, v []float32) {
	r := rand.New(rand.NewPCG(1, 1))
	g, err := Compile(context.Background(), classy(r, states, levels, classes), Config{Sites: sites, Levels: levels})
	require.NoError(tb, err)
	x, v = make([]int32, sites), make([]float32, sites*levels)
	for i := range v {
		v[i] = 2 * float32(r.NormFloat64())
	}
	run := NewRunner(g)
	_, err = run.Filter(v)
	require.NoError(tb, err)
	run.Draw(x, r)
	for t := n - 1; t < sites; t += n {
		row := v[t*levels : (t+1)*levels]
		for i := range row {
			row[i] = float32(math.Inf(-1))
		}
		row[x[t]] = 0
	}
	return g, x, v
}

// The nodes listed at a site are those that edges with weight lead to from the nodes before it,
// whether their edges are searched for the columns left or passed over.
func TestListsOfReachableNodes(t *testing.T) {
	for _, classes := range []int{8, 40} {
		g, x, v := given(t, 12, 64, 30, classes, 2)
		run := NewRunner(g)
		_, err := run.Filter(v)
		require.NoError(t, err)
		assert.False(t, math.IsInf(run.LogProb(x), -1))
		listed := 0
		for s, l := range g.layers {
			list, all := run.nodes(s + 1)
			if all {
				continue
			}
			listed++
			before, every := run.nodes(s)
			if every {
				before = nil
				for q := range int32(l.n) {
					before = append(before, q)
				}
			}
			want := map[int32]bool{}
			for _, q := range before {
				for e := l.row[q]; e < l.row[q+1]; e++ {
					if run.sums(s)[l.col[e]] > 0 {
						want[l.to[e]] = true
					}
				}
			}
			got := map[int32]bool{}
			for _, q := range list {
				got[q] = true
			}
			assert.Equal(t, want, got, "%d classes, site %d", classes, s)
		}
		assert.Positive(t, listed)
	}
}

// BenchmarkGiven is one Filter and one Draw where every second, fourth or no site has one token
// left.
func BenchmarkGiven(b *testing.B) {
	for _, c := range []struct{ sites, levels, states, classes int }{{128, 1024, 40, 64}, {128, 1024, 1000, 64}, {32, 4, 500, 4}} {
		for _, n := range []int{2, 4, c.sites + 1} {
			g, x, v := given(b, c.sites, c.levels, c.states, c.classes, n)
			b.Run(fmt.Sprintf("sites=%d/levels=%d/states=%d/known=%d", c.sites, c.levels, c.states, c.sites/n), func(b *testing.B) {
				run, r := NewRunner(g), rand.New(rand.NewPCG(2, 2))
				for b.Loop() {
					_, _ = run.Filter(v)
					run.Draw(x, r)
				}
			})
		}
	}
}

package trellis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
// whether their edges are searched for the columns left or passed over. Rows of nodes are short and
// long, and many lack columns.
func TestListsOfReachableNodes(t *testing.T) {
	listed, searched := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		states, levels, sites := 1+r.IntN(40), 1+r.IntN(120), 1+r.IntN(8)
		a := &table{levels: levels, next: make([]int, states*levels), accepting: make([]bool, states)}
		fill := r.Float64()
		for i := range a.next {
			if a.next[i] = -1; r.Float64() < fill {
				a.next[i] = r.IntN(states)
			}
		}
		for s := range states {
			a.accepting[s] = r.IntN(3) > 0
		}
		g, err := Compile(context.Background(), a, Config{Sites: sites, Levels: levels})
		if err != nil {
			continue // nothing is accepted
		}
		v := make([]float32, sites*levels)
		for i := range v {
			v[i] = float32(r.NormFloat64())
			if s := i / levels; s%2 == int(seed)%2 && i%levels != int(g.layers[s].tokens[0]) && r.IntN(1+levels/4) > 0 {
				v[i] = float32(math.Inf(-1))
			}
		}
		run := NewRunner(g)
		if _, err := run.Filter(v); err != nil {
			continue
		}
		for s, l := range g.layers {
			list, all := run.nodes(s + 1)
			before, every := run.nodes(s)
			if every {
				before = nil
				for q := range int32(l.n) {
					before = append(before, q)
				}
			}
			if all {
				continue
			}
			listed++
			if cols := len(run.columns(s)); every && l.n > 1 && cols <= len(l.to)/(sought*l.n) {
				searched++
			}
			var want []int32
			for _, q := range before {
				for e := l.row[q]; e < l.row[q+1]; e++ {
					if run.sums(s)[l.col[e]] > run.zero() {
						want = append(want, l.to[e])
					}
				}
			}
			slices.Sort(want)
			assert.Equal(t, slices.Compact(want), slices.Clone(list), "seed %d, site %d", seed, s)
		}
	}
	assert.Greater(t, searched, 20, "of %d lists", listed)
	assert.Greater(t, listed, 2*searched)
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

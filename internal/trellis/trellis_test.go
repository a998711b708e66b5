package trellis

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// TestAgainstBruteForce compares every operation with the list of all
// sequences on random problems. Tolerances are relative: the logs of sums go
// up to 1e5 here.
func TestAgainstBruteForce(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 1))
	dead, rescued := 0, 0
	for range 4000 {
		p := newInstance(r)
		all, accepted := p.brute()
		g, err := Compile(context.Background(), p.a, p.config)
		if accepted == 0 {
			var d *algebra.DeadError
			require.ErrorAs(t, err, &d)
			dead++
			continue
		}
		require.NoError(t, err)
		require.Equal(t, int64(accepted), number(t, g, nil))
		require.Equal(t, int64(len(all)), number(t, g, p.v))
		run := NewRunner(g)
		checkBest(t, run, p, all)
		logZ, err := run.Filter(p.v)
		if len(all) == 0 {
			var d *algebra.DeadError
			require.ErrorAs(t, err, &d)
			dead++
			continue
		}
		require.NoError(t, err)
		near(t, logSum(all), logZ, 1e-12)
		if run.method == logarithm {
			rescued++
		}
		checkMarginals(t, run, p, all)
		x := make([]int32, p.config.Sites)
		for range 3 {
			run.Draw(x, r)
			w, ok := p.weigh(x)
			require.True(t, ok)
			require.False(t, math.IsInf(w, -1))
			require.True(t, g.Accepts(x))
			near(t, w-logZ, run.LogProb(x), 1e-12)
		}
	}
	require.Greater(t, dead, 100)
	require.Greater(t, rescued, 100)
}

func checkBest(t *testing.T, run *Runner, p *instance, all []listed) {
	x := make([]int32, p.config.Sites)
	w, err := run.MAP(x, p.v)
	seq, err2 := run.Descending(p.v)
	if len(all) == 0 {
		var d *algebra.DeadError
		require.ErrorAs(t, err, &d)
		require.ErrorAs(t, err2, &d)
		return
	}
	require.NoError(t, err)
	require.NoError(t, err2)
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b listed) int {
		if a.weight > b.weight {
			return -1
		}
		if a.weight < b.weight {
			return 1
		}
		return 0
	})
	near(t, order[0].weight, w, 1e-12)
	best := w
	got, _ := p.weigh(x)
	near(t, order[0].weight, got, 1e-12)
	k, last := 0, math.Inf(1)
	seen := map[string]bool{}
	for y, w := range seq {
		near(t, order[k].weight, w, 1e-12)
		got, ok := p.weigh(y)
		require.True(t, ok)
		near(t, w, got, 1e-12)
		require.LessOrEqual(t, w, last)
		last = w
		seen[string(runes(y))] = true
		k++
	}
	require.Equal(t, len(all), k)
	require.Len(t, seen, k)

	y := make([]int32, len(x))
	c, err := run.Cheapest(y, toCosts(p.v))
	require.NoError(t, err)
	require.Equal(t, x, y)
	near(t, -best, c, 1e-12)
	seq, err = run.Ascending(toCosts(p.v))
	require.NoError(t, err)
	for z, cost := range seq { // stops when asked to
		require.Equal(t, c, cost)
		require.True(t, run.g.Accepts(z))
		break
	}
}

func runes(x []int32) []rune {
	r := make([]rune, len(x))
	copy(r, x)
	return r
}

func checkMarginals(t *testing.T, run *Runner, p *instance, all []listed) {
	n := p.config.Sites * p.config.Levels
	got := make([]float64, n)
	run.Marginals(got)
	logZ := logSum(all)
	for i := range n {
		var with []listed
		for _, s := range all {
			if int(s.x[i/p.config.Levels]) == i%p.config.Levels {
				with = append(with, s)
			}
		}
		if len(with) == 0 {
			require.Equal(t, math.Inf(-1), got[i])
			continue
		}
		near(t, logSum(with)-logZ, got[i], 1e-10)
	}
}

// TestMAPBreaksTies: among equal weights the first sequence in lexicographic
// order wins.
func TestMAPBreaksTies(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 1000 {
		p := newInstance(r)
		for i := range p.v {
			p.v[i] = float32(r.IntN(2)) // sums are exact
		}
		all, _ := p.brute()
		if len(all) == 0 {
			continue
		}
		want := all[0]
		for _, s := range all {
			if s.weight > want.weight {
				want = s
			}
		}
		x := make([]int32, p.config.Sites)
		_, err := compile(t, p).MAP(x, p.v)
		require.NoError(t, err)
		require.Equal(t, want.x, x)
	}
}

// evenOnes accepts sequences with an even number of token 1.
func evenOnes(levels int) *table {
	a := &table{levels: levels, next: make([]int, 2*levels), accepting: []bool{true, false}}
	for s := range 2 {
		for v := range levels {
			a.next[s*levels+v] = s
		}
		a.next[s*levels+1] = 1 - s
	}
	return a
}

func TestClasses(t *testing.T) {
	g, err := Compile(context.Background(), evenOnes(1000), Config{Sites: 20, Levels: 1000})
	require.NoError(t, err)
	classes, nodes, edges := g.Size()
	require.Equal(t, 2, classes)
	require.Equal(t, 1+19*2+1, nodes)
	require.Equal(t, 2+4+2, edges) // the middle sites share a layer
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	a := evenOnes(3)
	for _, c := range []Config{
		{Sites: 0, Levels: 3}, {Sites: 1, Levels: 0}, {Sites: 1, Levels: 3, Limit: -1},
		{Sites: 1, Levels: 3, Padded: true, Pad: 3}, {Sites: 1, Levels: 3, Padded: true, Pad: -1},
	} {
		_, err := Compile(ctx, a, c)
		require.Error(t, err)
	}
	_, err := Compile(ctx, a, Config{Sites: 5, Levels: 3, Limit: 3})
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 3, limit.Bound)
	require.ErrorContains(t, err, "edges of the unrolled automaton = ")

	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Compile(gone, a, Config{Sites: 5, Levels: 3})
	require.ErrorIs(t, err, context.Canceled)

	// 0 then 1 then dead.
	line := &table{levels: 2, next: []int{1, -1, -1, 2, -1, -1}, accepting: []bool{false, false, true}}
	var dead *algebra.DeadError
	_, err = Compile(ctx, line, Config{Sites: 3, Levels: 2})
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 2, dead.Site)
	_, err = Compile(ctx, line, Config{Sites: 1, Levels: 2})
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 1, dead.Site)
	require.EqualError(t, err, "no sequence left at site 1")

	g, err := Compile(ctx, a, Config{Sites: 2, Levels: 3})
	require.NoError(t, err)
	run := NewRunner(g)
	sites, levels := g.Shape()
	require.Equal(t, []int{2, 3}, []int{sites, levels})
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		v := make([]float32, 6)
		v[4] = bad
		var weight *algebra.WeightError
		_, err = run.Filter(v)
		require.ErrorAs(t, err, &weight)
		require.Equal(t, []int{1, 1}, []int{weight.Site, weight.Level})
		require.ErrorContains(t, err, "site 1, level 1")
		_, err = run.MAP(make([]int32, 2), v)
		require.ErrorAs(t, err, &weight)
		_, err = run.Ascending(toCosts(v))
		require.ErrorAs(t, err, &weight)
		_, err = run.Descending(v)
		require.ErrorAs(t, err, &weight)
	}
	require.Panics(t, func() { run.Draw(make([]int32, 2), rand.NewPCG(1, 1)) })
	inf := float32(math.Inf(-1))
	_, err = run.Filter([]float32{inf, 0, inf, 0, inf, 0})
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 1, dead.Site)
	require.Panics(t, func() { run.LogProb(make([]int32, 2)) })
	require.PanicsWithValue(t, "trellis: len(v) = 5, want 6", func() { _, _ = run.Filter(make([]float32, 5)) })
	_, err = run.Filter(make([]float32, 6))
	require.NoError(t, err)
	near(t, math.Log(5), run.LogZ(), 1e-15)
	require.PanicsWithValue(t, "trellis: len(x) = 3, want 2", func() { run.Draw(make([]int32, 3), rand.NewPCG(1, 1)) })
	require.Equal(t, math.Inf(-1), run.LogProb([]int32{0, 1}))
	require.Equal(t, math.Inf(-1), run.LogProb([]int32{0, 9}))
	require.True(t, errors.As(error(dead), &dead))
}

func toCosts(v []float32) []float64 {
	c := make([]float64, len(v))
	for i, w := range v {
		c[i] = -float64(w)
	}
	return c
}

// number returns Count where it fits an int64.
func number(t testing.TB, g *Graph, v []float32) int64 {
	n, err := g.Count(context.Background(), v)
	require.NoError(t, err)
	require.True(t, n.IsInt64())
	return n.Int64()
}

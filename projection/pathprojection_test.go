package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/stretchr/testify/require"
)

// TestAgainstBruteForce runs 10 000 random problems (1000 in short mode)
// against the list of all sequences: log Z to 1e-10, marginals, most likely
// sequences in order, membership of draws, counts. TestDraw tests the
// distribution of the draws.
func TestAgainstBruteForce(t *testing.T) {
	exact.SkipUnderRace(t)
	cases := 10000
	if testing.Short() {
		cases = 1000
	}
	r := rand.New(rand.NewPCG(11, 1))
	feasible := 0
	for n := range cases {
		most := 300.0
		if n%50 == 0 {
			most = 1e5
		}
		p := problem.New(t, r, most)
		language := p.Brute()
		e, err := Path{Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		if len(language) == 0 {
			problem.Infeasible[*InfeasibleError](t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, int64(len(language)), exact.Must(e.Count(t.Context(), nil)).Int64())
		possible := slices.DeleteFunc(slices.Clone(language), func(s problem.Listed) bool { return math.IsInf(s.Weight, -1) })
		require.Equal(t, int64(len(possible)), exact.Must(e.Count(t.Context(), p.V)).Int64())
		if len(possible) == 0 {
			_, err = e.LogZ(t.Context(), p.V)
			problem.Infeasible[*InfeasibleError](t, err)
			_, err = e.KBest(t.Context(), p.V)
			problem.Infeasible[*InfeasibleError](t, err)
			x := make([]int32, p.Sites)
			_, err = e.MAP(t.Context(), x, p.V)
			problem.Infeasible[*InfeasibleError](t, err)
			_, err = e.Draw(t.Context(), x, p.V, r)
			problem.Infeasible[*InfeasibleError](t, err)
			_, err = e.Nearest(t.Context(), x, p.V)
			problem.Infeasible[*InfeasibleError](t, err)
			problem.Infeasible[*InfeasibleError](t, e.LogMarginals(t.Context(), make([]float64, len(p.V)), p.V))
			continue
		}
		feasible++
		checkSums(t, e, p, possible, r)
		checkOrder(t, e, p, possible)
	}
	require.Greater(t, feasible, cases/3)
}

func checkSums(t *testing.T, e *PathProjection, p *problem.Problem, possible []problem.Listed, r rand.Source) {
	t.Helper()
	want := problem.LogSum(possible)
	got, err := e.LogZ(t.Context(), p.V)
	require.NoError(t, err)
	problem.Near(t, want, got, 1e-10)
	m := make([]float64, len(p.V))
	require.NoError(t, e.LogMarginals(t.Context(), m, p.V))
	sums := make([]float64, len(p.V))
	for _, s := range possible {
		for i, v := range s.X {
			sums[i*p.Levels+int(v)] += math.Exp(s.Weight - want)
		}
	}
	for i := range m {
		require.InDelta(t, sums[i], math.Exp(m[i]), 1e-10)
	}
	x := make([]int32, 2*p.Sites)
	logZ, err := e.Sample(t.Context(), x, p.V, r)
	require.NoError(t, err)
	require.Equal(t, got, logZ)
	for range 2 {
		require.True(t, slices.ContainsFunc(possible, func(s problem.Listed) bool { return slices.Equal(s.X, x[:p.Sites]) }))
		require.True(t, e.Accepts(x[:p.Sites]))
		x = x[p.Sites:]
	}
}

func checkOrder(t *testing.T, e *PathProjection, p *problem.Problem, possible []problem.Listed) {
	t.Helper()
	order := slices.Clone(possible)
	slices.SortStableFunc(order, func(a, b problem.Listed) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	x := make([]int32, p.Sites)
	w, err := e.MAP(t.Context(), x, p.V)
	require.NoError(t, err)
	problem.Near(t, order[0].Weight, w, 1e-12)
	problem.Near(t, w, p.Weigh(x), 1e-12)
	seq, err := e.KBest(t.Context(), p.V)
	require.NoError(t, err)
	seen, k := map[string]bool{}, 0
	for y, w := range seq {
		problem.Near(t, order[k].Weight, w, 1e-12)
		problem.Near(t, w, p.Weigh(y), 1e-12)
		seen[problem.Spell(y)] = true
		if k++; k == 40 {
			break
		}
	}
	require.Equal(t, min(40, len(order)), k)
	require.Len(t, seen, k)
}

// TestNearestAgainstBruteForce compares the projection with the least sum of
// row costs over all sequences, the rows by the barrier method on the few
// distinct (row, token) pairs of a problem for some problems, by the closed
// form (which the tests of package lead hold to it) for all.
func TestNearestAgainstBruteForce(t *testing.T) {
	exact.SkipUnderRace(t)
	cases := 10000
	if testing.Short() {
		cases = 1000
	}
	r := rand.New(rand.NewPCG(12, 1))
	for n := range cases {
		p := problem.New(t, r, 300)
		path := Path{Language: p.Language}
		path.Divergence = Divergence(r.IntN(2))
		path.Margin = []float64{0, 1, 1.25, 3}[r.IntN(4)]
		path.Revive = path.Divergence == Forward && r.IntN(2) == 0
		language := p.Brute()
		e, err := path.Compile(context.Background(), p.Sites, p.Levels)
		if len(language) == 0 {
			problem.Infeasible[*InfeasibleError](t, err)
			continue
		}
		require.NoError(t, err)
		costs, dead := rowCosts(p, path, n%100 == 0)
		least, best := math.Inf(1), problem.Listed{}
		for _, s := range language {
			if dead {
				break
			}
			c := 0.0
			for i, v := range s.X {
				c += costs[i*p.Levels+int(v)]
			}
			if c < least {
				least, best = c, s
			}
		}
		x := make([]int32, p.Sites)
		y := slices.Clone(p.V)
		got, err := e.Nearest(t.Context(), x, y)
		if best.X == nil || dead {
			problem.Infeasible[*InfeasibleError](t, err)
			require.Equal(t, p.V, y)
			continue
		}
		require.NoError(t, err)
		problem.Near(t, least, got, 1e-9)
		require.True(t, e.Accepts(x))
		p.RequireLead(t, path.Margin, x, y)
		again := slices.Clone(y)
		second, err := e.Nearest(t.Context(), x, again)
		require.NoError(t, err)
		require.Less(t, second, 1e-5)
		require.Equal(t, y, again)
	}
}

// rowCosts returns the cost of every token by a second route; dead says that a
// row has no weight at all.
func rowCosts(p *problem.Problem, path Path, slow bool) (costs []float64, dead bool) {
	rule := lead.Rule{Reverse: path.Divergence == Reverse, Margin: path.Margin, Revive: path.Revive}
	costs = make([]float64, len(p.V))
	for i := range p.Sites {
		row := p.V[i*p.Levels : (i+1)*p.Levels]
		top := math.Inf(-1)
		for _, w := range row {
			top = max(top, float64(w))
		}
		if math.IsInf(top, -1) {
			return nil, true
		}
		x := make([]float64, p.Levels)
		moderate, sum := true, 0.0
		for l, w := range row {
			x[l] = math.Exp(float64(w) - top)
			sum += x[l]
			moderate = moderate && x[l] > 1e-3
		}
		for l := range x {
			x[l] /= sum
		}
		s := lead.New(p.Levels, rule)
		s.Load(row)
		s.Costs(costs[i*p.Levels : (i+1)*p.Levels])
		if slow && moderate {
			for v := range row {
				costs[i*p.Levels+v], _ = exact.NearestRow(x, v, max(1, path.Margin), rule.Reverse)
			}
		}
	}
	return costs, false
}

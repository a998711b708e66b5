package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// TestAgainstBruteForce runs 10 000 random problems (1000 in short mode)
// against the list of all sequences: log Z to 1e-10, marginals, most likely
// sequences in order, membership of draws, counts. The law of the draws is
// TestDrawLaw's business.
func TestAgainstBruteForce(t *testing.T) {
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
		p := newProblem(t, r, most)
		language := p.brute()
		e, err := p.path.Compile(context.Background(), p.sites, p.levels)
		if len(language) == 0 {
			requireInfeasible(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, int64(len(language)), e.Count(nil).Int64())
		possible := slices.DeleteFunc(slices.Clone(language), func(s listed) bool { return math.IsInf(s.weight, -1) })
		require.Equal(t, int64(len(possible)), e.Count(p.v).Int64())
		if len(possible) == 0 {
			_, err = e.LogZ(p.v)
			requireInfeasible(t, err)
			_, err = e.KBest(p.v)
			requireInfeasible(t, err)
			x := make([]int32, p.sites)
			_, err = e.MAP(x, p.v)
			requireInfeasible(t, err)
			_, err = e.Draw(x, p.v, r)
			requireInfeasible(t, err)
			_, err = e.Nearest(x, p.v)
			requireInfeasible(t, err)
			requireInfeasible(t, e.Marginals(make([]float64, len(p.v)), p.v))
			continue
		}
		feasible++
		checkSums(t, e, p, possible, r)
		checkOrder(t, e, p, possible)
	}
	require.Greater(t, feasible, cases/3)
}

func requireInfeasible(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	var dead *InfeasibleError
	require.ErrorAs(t, err, &dead)
}

func checkSums(t *testing.T, e *Exact, p *problem, possible []listed, r rand.Source) {
	t.Helper()
	want := logSum(possible)
	got, err := e.LogZ(p.v)
	require.NoError(t, err)
	near(t, want, got, 1e-10)
	m := make([]float64, len(p.v))
	require.NoError(t, e.Marginals(m, p.v))
	sums := make([]float64, len(p.v))
	for _, s := range possible {
		for i, v := range s.x {
			sums[i*p.levels+int(v)] += math.Exp(s.weight - want)
		}
	}
	for i := range m {
		require.InDelta(t, sums[i], math.Exp(m[i]), 1e-10)
	}
	x := make([]int32, 2*p.sites)
	logZ, err := e.Sample(x, p.v, r)
	require.NoError(t, err)
	require.Equal(t, got, logZ)
	for range 2 {
		require.True(t, slices.ContainsFunc(possible, func(s listed) bool { return slices.Equal(s.x, x[:p.sites]) }))
		require.True(t, e.Accepts(x[:p.sites]))
		x = x[p.sites:]
	}
}

func checkOrder(t *testing.T, e *Exact, p *problem, possible []listed) {
	t.Helper()
	order := slices.Clone(possible)
	slices.SortStableFunc(order, func(a, b listed) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	x := make([]int32, p.sites)
	w, err := e.MAP(x, p.v)
	require.NoError(t, err)
	near(t, order[0].weight, w, 1e-12)
	near(t, w, p.weigh(x), 1e-12)
	seq, err := e.KBest(p.v)
	require.NoError(t, err)
	seen, k := map[string]bool{}, 0
	for y, w := range seq {
		near(t, order[k].weight, w, 1e-12)
		near(t, w, p.weigh(y), 1e-12)
		seen[spell(y)] = true
		if k++; k == 40 {
			break
		}
	}
	require.Equal(t, min(40, len(order)), k)
	require.Len(t, seen, k)
}

func (p *problem) weigh(x []int32) float64 {
	w := 0.0
	for i, v := range x {
		w += float64(p.v[i*p.levels+int(v)])
	}
	return w
}

// TestNearestAgainstBruteForce compares the projection with the least sum of
// row costs over all sequences, the rows by the barrier method on the few
// distinct (row, token) pairs of a problem for some problems, by the closed
// form (which TestRowsAgainstBarrier holds to it) for all.
func TestNearestAgainstBruteForce(t *testing.T) {
	cases := 10000
	if testing.Short() {
		cases = 1000
	}
	r := rand.New(rand.NewPCG(12, 1))
	for n := range cases {
		p := newProblem(t, r, 300)
		p.path.Divergence = Divergence(r.IntN(2))
		p.path.Margin = []float64{0, 1, 1.25, 3}[r.IntN(4)]
		p.path.Revive = p.path.Divergence == Forward && r.IntN(2) == 0
		language := p.brute()
		e, err := p.path.Compile(context.Background(), p.sites, p.levels)
		if len(language) == 0 {
			requireInfeasible(t, err)
			continue
		}
		require.NoError(t, err)
		costs, dead := p.rowCosts(n%100 == 0)
		least, best := math.Inf(1), listed{}
		for _, s := range language {
			if dead {
				break
			}
			c := 0.0
			for i, v := range s.x {
				c += costs[i*p.levels+int(v)]
			}
			if c < least {
				least, best = c, s
			}
		}
		x := make([]int32, p.sites)
		y := slices.Clone(p.v)
		got, err := e.Nearest(x, y)
		if best.x == nil || dead {
			requireInfeasible(t, err)
			require.Equal(t, p.v, y)
			continue
		}
		require.NoError(t, err)
		near(t, least, got, 1e-9)
		require.True(t, e.Accepts(x))
		p.requireLead(t, x, y)
		again := slices.Clone(y)
		second, err := e.Nearest(x, again)
		require.NoError(t, err)
		require.Less(t, second, 1e-5)
		require.Equal(t, y, again)
	}
}

// rowCosts returns the cost of every token by a second route; dead says that a
// row has no weight at all.
func (p *problem) rowCosts(slow bool) (costs []float64, dead bool) {
	kappa := max(1, p.path.Margin)
	costs = make([]float64, len(p.v))
	for i := range p.sites {
		row := p.v[i*p.levels : (i+1)*p.levels]
		top := math.Inf(-1)
		for _, w := range row {
			top = max(top, float64(w))
		}
		if math.IsInf(top, -1) {
			return nil, true
		}
		x := make([]float64, p.levels)
		moderate := true
		for l, w := range row {
			x[l] = math.Exp(float64(w) - top)
			moderate = moderate && x[l] > 1e-3
		}
		scaleTo1(x)
		s := newRows(p.levels, newRule(p.path.Divergence, kappa, false, p.path.Revive))
		s.load(row)
		s.costs(costs[i*p.levels : (i+1)*p.levels])
		if slow && moderate {
			for v := range row {
				costs[i*p.levels+v], _ = barrier(x, v, kappa, p.path.Divergence)
			}
		}
	}
	return costs, false
}

// requireLead requires that x leads every row of y by the margin, exactly.
func (p *problem) requireLead(t *testing.T, x []int32, y []float32) {
	t.Helper()
	margin := math.Log(max(1, p.path.Margin))
	for i, v := range x {
		for u := range p.levels {
			if u != int(v) {
				require.GreaterOrEqual(t, float64(y[i*p.levels+int(v)]), float64(y[i*p.levels+u])+margin-1e-15)
			}
		}
	}
}

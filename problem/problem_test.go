package problem_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/problem"
	"github.com/stretchr/testify/require"
)

// twin is a random problem and the same as functions of values, which share no code with it.
type twin struct {
	p      *problem.Problem
	values [][]float64 // of each variable
	energy func(v []float64) float64
	holds  []func(v []float64) bool
}

type number struct {
	e problem.Expr
	f func(v []float64) float64
}

type claim struct {
	c problem.Condition
	f func(v []float64) bool
}

// randomTwin returns a problem of at most 2^16 states.
func randomTwin(r *rand.Rand) *twin {
	t := &twin{p: problem.New()}
	var x []number
	states := 1
	for i := range 2 + r.IntN(9) {
		name := fmt.Sprintf("v%d", i)
		var e problem.Expr
		var values []float64
		switch kind := r.IntN(5); kind {
		case 0:
			e, values = t.p.Spin(name), []float64{-1, 1}
		case 1:
			lo, k := r.IntN(7)-3, 1+r.IntN(5)
			e = t.p.Integer(name, lo, lo+k-1)
			for l := range k {
				values = append(values, float64(lo+l))
			}
		case 2:
			labels := []string{"red", "green", "blue", "grey"}[:2+r.IntN(3)]
			e = t.p.Category(name, labels...)
			for l := range labels {
				values = append(values, float64(l))
			}
		default:
			e, values = t.p.Binary(name), []float64{0, 1}
		}
		states *= len(values)
		t.values = append(t.values, values)
		x = append(x, number{e, func(v []float64) float64 { return v[i] }})
		if states > 1<<11 {
			break
		}
	}
	weight := func() float64 { return float64(r.IntN(9) - 4) }
	if r.IntN(4) == 0 {
		weight = func() float64 { return math.Round(40*r.NormFloat64()) / 10 }
	}
	expression := func(degree int) number {
		s := number{problem.Number(0), func([]float64) float64 { return 0 }}
		for range 1 + r.IntN(5) {
			w := weight()
			m := number{problem.Number(w), func([]float64) float64 { return w }}
			for range 1 + r.IntN(degree) {
				y := x[r.IntN(len(x))]
				before := m
				m = number{before.e.Times(y.e), func(v []float64) float64 { return before.f(v) * y.f(v) }}
			}
			before := s
			s = number{before.e.Plus(m.e), func(v []float64) float64 { return before.f(v) + m.f(v) }}
		}
		return s
	}
	long := func() number { // a sum of most variables
		s := number{problem.Number(0), func([]float64) float64 { return 0 }}
		for _, y := range x {
			if r.IntN(5) == 0 {
				continue
			}
			w, before := weight(), s
			s = number{before.e.Plus(y.e.Scale(w)), func(v []float64) float64 { return before.f(v) + w*y.f(v) }}
		}
		return s
	}
	const eps = 1e-9
	var condition func(depth int) claim
	condition = func(depth int) claim {
		b := float64(r.IntN(13) - 6)
		s := expression(1 + r.IntN(2))
		if r.IntN(2) == 0 {
			s = long()
		}
		kind := r.IntN(9)
		if depth > 1 && kind > 4 {
			kind = r.IntN(5)
		}
		switch kind {
		case 0:
			return claim{s.e.AtMost(b), func(v []float64) bool { return s.f(v) <= b+eps }}
		case 1:
			return claim{s.e.AtLeast(b), func(v []float64) bool { return s.f(v) >= b-eps }}
		case 2:
			w := b + float64(r.IntN(4))
			return claim{s.e.Between(b, w), func(v []float64) bool { return s.f(v) >= b-eps && s.f(v) <= w+eps }}
		case 3:
			y, z := x[r.IntN(len(x))], x[r.IntN(len(x))]
			return claim{problem.Equal(y.e, z.e), func(v []float64) bool { return y.f(v) == z.f(v) }}
		case 4:
			y, z := x[r.IntN(len(x))], x[r.IntN(len(x))]
			return claim{problem.NotEqual(y.e, z.e), func(v []float64) bool { return y.f(v) != z.f(v) }}
		case 5:
			c := condition(depth + 1)
			return claim{problem.Not(c.c), func(v []float64) bool { return !c.f(v) }}
		case 6:
			a, c := condition(depth+1), condition(depth+1)
			return claim{problem.Implies(a.c, c.c), func(v []float64) bool { return !a.f(v) || c.f(v) }}
		case 7:
			a, c := condition(depth+1), condition(depth+1)
			return claim{problem.Any(a.c, c.c), func(v []float64) bool { return a.f(v) || c.f(v) }}
		}
		a, c := condition(depth+1), condition(depth+1)
		return claim{problem.All(a.c, c.c), func(v []float64) bool { return a.f(v) && c.f(v) }}
	}
	objective := expression(1 + r.IntN(4))
	t.p.Objective(objective.e)
	t.energy = objective.f
	for k := range r.IntN(4) {
		c := condition(0)
		t.p.Require(fmt.Sprintf("c%d", k), c.c)
		t.holds = append(t.holds, c.f)
	}
	for k := range r.IntN(3) {
		s, b, w := long(), float64(r.IntN(7)-3), 0.5*float64(1+r.IntN(4))
		t.p.Prefer(fmt.Sprintf("s%d", k), s.e.AtMost(b), w)
		before := t.energy
		t.energy = func(v []float64) float64 {
			d := s.f(v) - b
			if d < eps {
				d = 0
			}
			return before(v) + w*d
		}
	}
	if r.IntN(2) == 0 {
		c, w := condition(1), float64(1+r.IntN(3))
		t.p.Prefer("n", problem.Not(problem.Not(c.c)), w)
		before := t.energy
		t.energy = func(v []float64) float64 {
			if c.f(v) {
				return before(v)
			}
			return before(v) + w
		}
	}
	return t
}

// enumerate returns the energies of the feasible states by their levels.
func (t *twin) enumerate() map[string]float64 {
	feasible := map[string]float64{}
	n := len(t.values)
	level, v := make([]int32, n), make([]float64, n)
	for {
		for i, l := range level {
			v[i] = t.values[i][l]
		}
		if !slices.ContainsFunc(t.holds, func(f func([]float64) bool) bool { return !f(v) }) {
			feasible[fmt.Sprint(level)] = t.energy(v)
		}
		i := n - 1
		for ; i >= 0; i-- {
			if level[i]++; int(level[i]) < len(t.values[i]) {
				break
			}
			level[i] = 0
		}
		if i < 0 {
			return feasible
		}
	}
}

// Every way of answering has the feasible states, their number and their energies of
// enumeration: elimination, and the search where a bound on memory closes that.
func TestAnswersAreThoseOfEnumeration(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	methods := map[string]int{}
	empty := 0
	problems := uint64(100)
	if exact.Race {
		problems = 12 // of which the searches have workers
	}
	for seed := range problems {
		tw := randomTwin(rand.New(rand.NewPCG(seed, 46)))
		require.NoError(t, tw.p.Err())
		want := tw.enumerate()
		best := math.Inf(1)
		for _, e := range want {
			best = min(best, e)
		}
		for _, c := range []problem.Config{{}, {Search: -1}} {
			count, err := tw.p.Count(ctx, c)
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, float64(len(want)), count, "seed %d, %+v", seed, c)
			c.Rows = len(want) + 1
			if c.Search < 0 {
				c.Rows = min(c.Rows, 200) // each takes a walk
			}
			all, err := tw.p.Minimise(ctx, c)
			if len(want) == 0 {
				empty++
				require.ErrorAs(t, err, new(*problem.InfeasibleError), "seed %d", seed)
				_, err = tw.p.Sample(ctx, 3, c)
				require.ErrorAs(t, err, new(*problem.InfeasibleError), "seed %d", seed)
				continue
			}
			require.NoError(t, err, "seed %d, %+v", seed, c)
			require.True(t, all.Exact)
			methods[all.Method]++
			require.Len(t, all.Rows, min(len(want), c.Rows), "seed %d, %+v", seed, c)
			last := math.Inf(-1)
			for _, row := range all.Rows {
				e, ok := want[fmt.Sprint(row.Levels)]
				require.True(t, ok, "seed %d: %v is not feasible", seed, row)
				require.InDelta(t, e, row.Energy, 1e-9, "seed %d: %v", seed, row)
				require.GreaterOrEqual(t, row.Energy, last-1e-9, "seed %d", seed)
				last = row.Energy
			}
			c.Rows = 1
			one, err := tw.p.Minimise(ctx, c)
			require.NoError(t, err)
			require.Len(t, one.Rows, 1)
			require.InDelta(t, best, one.Rows[0].Energy, 1e-9, "seed %d, %+v", seed, c)
			require.True(t, one.Rows[0].Feasible())
		}
	}
	require.Greater(t, methods["elimination"], int(problems/2))
	require.Greater(t, methods["search"], int(problems/2))
	require.Greater(t, empty, int(problems/25))
	require.Less(t, empty, int(problems*3/5)+3)
}

// Small coefficients count next to large ones, in the search and in elimination.
func TestSmallNextToLarge(t *testing.T) {
	p := problem.New()
	x, y, z := p.Integer("x", 0, 5), p.Integer("y", 0, 5), p.Integer("z", 0, 5)
	p.Objective(problem.Sum(x, y, z))
	p.Require("small", problem.Sum(x.Scale(1e9), y.Scale(-1e9), z.Scale(1e-3)).Between(1e-3, 2e-3))
	for _, c := range []problem.Config{{}, {Search: -1}} {
		n, err := p.Count(context.Background(), c)
		require.NoError(t, err)
		require.Equal(t, 12.0, n) // x = y, z = 1 or 2
		s, err := p.Minimise(context.Background(), c)
		require.NoError(t, err)
		require.True(t, s.Exact)
		require.Equal(t, 1.0, s.Rows[0].Energy)
	}
}

package activeset_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/activeset"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	many = flag.Int("many", 0, "random problems per class, instead of a few")
	from = flag.Int("from", 0, "number of the first of them")
)

// size draws a number of variables; every 50th problem is large.
func size(rng *rand.Rand, k int) int {
	if k%50 == 49 {
		return 100 + rng.IntN(101)
	}
	return 2 + rng.IntN(40)
}

// judge checks an answer against the optimality conditions, to 1e-9 of the data
// or, if that is more, to 2⁻⁵² times the sum of the multipliers, which is what
// rounding them to doubles does. If closely it solves for the tight rows with
// 200 bits.
func judge(t *testing.T, p *problem, x, u []float64, closely bool, what string) {
	t.Helper()
	scale, total := 1.0, 0.0
	for _, y := range u {
		total += math.Abs(y)
	}
	for _, y := range p.v {
		scale = max(scale, math.Abs(y))
	}
	tol := max(1e-9*scale, 0x1p-52*total)
	require.LessOrEqual(t, residual(p, x, u), tol, "%s: ‖u‖₁ = %g", what, total)
	if closely {
		for i, want := range solve(p, u) {
			require.InDelta(t, want, x[i], tol, "%s: x[%d]", what, i)
		}
	}
}

// Every problem is solved, cold and from the multipliers of a neighbour, to 1e-9
// of the optimality conditions in exact arithmetic, and every claim that no
// point satisfies the rows names rows of which each is needed.
func TestSolverNeverFails(t *testing.T) {
	count := 150
	if testing.Short() {
		count = 50
	}
	count = max(count, *many)
	for number, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for k := *from; k < *from+count; k++ {
				rng := rand.New(rand.NewPCG(uint64(number), uint64(k)))
				p := c.make(rng, size(rng, k))
				s := activeset.New(p.Rows)
				m := len(p.Lo)
				x, u := make([]float64, p.N), make([]float64, m)
				what := fmt.Sprintf("problem %d of %d variables", k, p.N)
				closely := p.N <= 45 && k%33 == 0 || *many > 0 && k%33 == 0
				require.Equal(t, activeset.Solved, s.Solve(x, u, p.v, p.limit, m, 0), what)
				judge(t, p, x, u, closely, what)
				cold := append([]float64(nil), x...)
				require.Equal(t, activeset.Solved, s.Solve(x, u, p.v, p.limit, m, 0), "%s, again", what)
				judge(t, p, x, u, false, what+", again")
				for i := range p.v {
					p.v[i] += 0.1 * rng.NormFloat64() * math.Abs(p.v[i])
				}
				require.Equal(t, activeset.Solved, s.Solve(x, u, p.v, p.limit, m, 0), "%s, warm", what)
				judge(t, p, x, u, closely, what+", warm")
				if c.soft {
					hard(t, p, cold, what)
				}
			}
		})
	}
}

// hard solves a system that may contradict itself, and checks that the rows
// named do, and that none of them can be spared.
func hard(t *testing.T, p *problem, x []float64, what string) {
	t.Helper()
	m := len(p.Lo)
	limit := make([]float64, m)
	for j := range limit {
		limit[j] = math.Inf(1)
	}
	s := activeset.New(p.Rows)
	if s.Solve(x, make([]float64, m), p.v, limit, m, 0) == activeset.Solved {
		return
	}
	rows, weights := s.Conflict()
	require.NotEmpty(t, rows, what)
	rows, weights = append([]int(nil), rows...), append([]float64(nil), weights...)
	total, slack := make([]float64, p.N), 0.0
	for k, j := range rows {
		w := weights[k]
		for e := p.Start[j]; e < p.End[j]; e++ {
			total[p.Index[e]] += w * p.Value[e]
		}
		if w > 0 {
			slack -= w * p.Hi[j]
		} else {
			slack -= w * p.Lo[j]
		}
	}
	require.Positive(t, slack, what)
	for _, e := range total {
		require.InDelta(t, 0, e, 1e-7*slack, what)
	}
	only := make([]float64, m) // caps of 0 leave rows out
	for _, j := range rows {
		only[j] = math.Inf(1)
	}
	require.Equal(t, activeset.Infeasible, s.Solve(x, make([]float64, m), p.v, only, m, 0), what)
	for _, j := range rows {
		only[j] = 0
		require.Equal(t, activeset.Solved, s.Solve(x, make([]float64, m), p.v, only, m, 0), "%s without row %d of %v", what, j, rows)
		only[j] = math.Inf(1)
	}
}

// The oracle refuses an answer that is 1e-8 off, a multiplier of the wrong sign
// and one above its cap.
func TestResidualSeesErrors(t *testing.T) {
	p := &problem{Rows: activeset.Rows{N: 2}, v: []float64{3, 1}}
	p.row([]int32{0, 1}, []float64{3, 4}, math.Inf(-1), 5, 10)
	x, u := make([]float64, 2), make([]float64, 1)
	require.Equal(t, activeset.Solved, activeset.New(p.Rows).Solve(x, u, p.v, p.limit, 1, 0))
	assert.LessOrEqual(t, residual(p, x, u), 1e-15)
	assert.InDeltaSlice(t, solve(p, u), x, 1e-15)
	x[0] += 1e-8
	assert.Greater(t, residual(p, x, u), 1e-9)
	assert.True(t, math.IsInf(residual(p, x, []float64{-1}), 1))
	assert.True(t, math.IsInf(residual(p, x, []float64{11}), 1))
}

// A solver that is warm allocates nothing, and its answer depends on the
// multipliers it is given and not on what it solved before.
func TestSolverKeepsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := feasible(rng, 30, 0.3, 0.3)
	m := len(p.Lo)
	s := activeset.New(p.Rows)
	x, u := make([]float64, p.N), make([]float64, m)
	want := make([]float64, p.N)
	s.Solve(want, u, p.v, p.limit, m, 0)
	other := make([]float64, p.N)
	for i := range other {
		other[i] = 5 * rng.NormFloat64()
	}
	s.Solve(x, u, other, p.limit, m, 0)
	clear(u)
	s.Solve(x, u, p.v, p.limit, m, 0)
	assert.Equal(t, want, x)
	assert.Positive(t, s.Tight())
	assert.Zero(t, testing.AllocsPerRun(5, func() {
		s.Solve(x, u, other, p.limit, m, 0)
		s.Solve(x, u, p.v, p.limit, m, 0)
	}))
}

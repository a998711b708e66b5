package dual_test

import (
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/multipliers"
)

var many = flag.Int("many", 0, "random problems of TestSolveMany, for instance 10000, instead of some hundred")

// listed is a problem on a list of states.
type listed struct {
	f0, g []float64 // states; states × n
	n     int
	beta  float64
	equal []bool

	rounded bool // rows may depend on each other but for rounding
}

// lagrangian writes the problem as models of one site.
func (p *listed) lagrangian() *dual.Lagrangian {
	levels := len(p.f0)
	var bounds []constraint.Set
	for j := range p.n {
		m := energy.Func{Sites: 1, Levels: levels, E: func(x []int32) float64 { return p.g[int(x[0])*p.n+j] }}
		b := dual.AtMost(m, 0)
		if p.equal[j] {
			b = dual.Between(m, 0, 0)
		}
		bounds = append(bounds, b)
	}
	base := energy.Func{Sites: 1, Levels: levels, E: func(x []int32) float64 { return p.f0[x[0]] }}
	return exact.Must(exact.Must(dual.NewLagrangian(base, bounds...)).AtTemperature(p.beta))
}

// randomListed returns a problem with what makes multipliers hard: units from 1e-9 to 1e9
// side by side, rows that depend on or equal each other, equalities, states of probability
// 1e-12, bounds at the edge of what can be met and beyond it, and states far off.
func randomListed(seed uint64) *listed {
	r := rand.New(rand.NewPCG(seed, 43))
	states := 3 + r.IntN(30)
	p := &listed{n: 1 + r.IntN(5), beta: math.Exp2(float64(r.IntN(5) - 2))}
	p.equal = make([]bool, p.n)
	for range states {
		f := 2 * r.NormFloat64()
		if r.IntN(5) == 0 {
			f += 12 * math.Ln10
		}
		p.f0 = append(p.f0, p.beta*f)
	}
	col := make([][]float64, p.n)
	for j := range col {
		p.equal[j] = r.IntN(6) == 0
		col[j] = make([]float64, states)
		kind := r.IntN(10)
		switch {
		case j > 0 && kind == 0: // the same row, in another unit
			copy(col[j], col[r.IntN(j)])
		case j > 0 && kind == 1: // the opposite one, with a margin
			margin := []float64{0, 0, 0.25, -0.25, 0x1p-20}[r.IntN(5)]
			for k, v := range col[r.IntN(j)] {
				col[j][k] = margin - v
			}
		case j > 1 && kind == 2: // the sum of two
			for k := range states {
				col[j][k] = col[j-1][k] + col[j-2][k]
			}
		case kind < 6: // small numbers, with a bound anywhere from inside to the edge
			for k := range states {
				col[j][k] = float64(r.IntN(5))
			}
			b := []float64{0, 0.25, 1, 2.5, 4}[r.IntN(5)]
			for k := range states {
				col[j][k] -= b
			}
		default: // met by a random distribution, with some slack or none
			sum, mean := 0.0, 0.0
			for k := range states {
				col[j][k] = r.NormFloat64()
				w := r.ExpFloat64()
				sum += w
				mean += w * col[j][k]
			}
			slack := []float64{0, 0, 1e-3, -0.3, 0.5}[r.IntN(5)]
			for k := range states {
				// Numbers with few digits: their sums and multiples are exact.
				col[j][k] = math.Round((col[j][k]-mean/sum-slack)*0x1p30) / 0x1p30
			}
			if r.IntN(6) == 0 {
				col[j][r.IntN(states)] *= 1e7
			}
		}
	}
	p.g = make([]float64, states*p.n)
	for j := range col {
		unit := math.Exp2(float64(r.IntN(61) - 30))
		if seed%4 == 0 {
			unit = math.Pow(10, float64(r.IntN(19)-9))
			p.rounded = true
		}
		for k, v := range col[j] {
			p.g[k*p.n+j] = unit * v
		}
	}
	return p
}

// Random problems against linear programming in rational numbers and sums of 50 digits:
// no wrong outcome, no solution with a violation, and few problems left undecided.
func TestSolveMany(t *testing.T) {
	exact.SkipUnderRace(t)
	count := 400
	if *many > 0 {
		count = *many
	}
	undecided := 0
	seen := map[multipliers.Outcome]int{}
	for seed := range uint64(count) {
		p := randomListed(seed)
		want := multipliers.Decide(p.g, p.n, p.equal)
		s, err := dual.Solve(ctx, p.lagrangian())
		var diverged *dual.DivergedError
		var open *dual.UndecidedError
		switch {
		case err == nil:
			residual := multipliers.Optimum(p.f0, p.g, p.beta, p.equal, s.Lambda)
			assert.LessOrEqual(t, residual, 1e-9, "seed %d, %v", seed, want)
			if !p.rounded {
				assert.Equal(t, want, multipliers.Attained, "seed %d: λ = %v", seed, s.Lambda)
			}
		case errors.As(err, &open):
			undecided++
			t.Logf("seed %d, %v: %v", seed, want, err)
		case errors.Is(err, constraint.ErrInfeasible):
			assert.Equal(t, want, multipliers.Infeasible, "seed %d: %v", seed, err)
		case errors.As(err, &diverged):
			if !p.rounded {
				assert.Equal(t, want, multipliers.Limit, "seed %d: %v", seed, err)
			}
		default:
			require.NoError(t, err, "seed %d", seed)
		}
		seen[want]++
	}
	t.Logf("%v, %d undecided", seen, undecided)
	require.LessOrEqual(t, float64(undecided), 0.005*float64(count)+1)
	for v := multipliers.Infeasible; v <= multipliers.Attained; v++ {
		require.Positive(t, seen[v], v)
	}
}

// Four coins: the share of heads is at least .6, and heads less 2.6, in any unit, at least 0,
// which follows from it.
func TestSolveUnits(t *testing.T) {
	for _, unit := range []float64{1e-14, 1e-5, 1, 1e4, 1e5, 1e9, 1e14} {
		var f0, g []float64
		for k := range 16 {
			heads := float64(k&1 + k>>1&1 + k>>2&1 + k>>3&1)
			f0 = append(f0, 0)
			g = append(g, 0.6-heads/4, unit*(heads-2.6))
		}
		s, err := dual.SolveStates(ctx, f0, g, 1, nil)
		require.NoError(t, err, unit)
		require.InDeltaSlice(t, []float64{4 * math.Log(1.5), 0}, s.Lambda, 1e-12, unit)
		for k := range f0 { // and now they contradict each other
			g[2*k+1] += 0.4 * unit
		}
		require.ErrorIs(t, exact.Error(dual.SolveStates(ctx, f0, g, 1, nil)), constraint.ErrInfeasible, unit)
	}
}

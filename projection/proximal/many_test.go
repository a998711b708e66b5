package proximal_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/require"
)

var (
	many      = flag.Int("many", 0, "random systems per class, instead of a few")
	manyFirst = flag.Int("from", 0, "number of the first of them")
	manyLarge = flag.Bool("large", false, "ordinary systems of 200 to 2000 variables instead of up to 200")
)

// judged is a class of random systems, and how they are asked for.
type judged struct {
	name   string
	system system
	soften bool
	gamma  func(rng *rand.Rand) float64 // nil: the hard form
	scale  func(rng *rand.Rand) float64 // nil: 1
}

var manyClasses = []judged{
	{name: "ordinary"},
	{name: "dependent", system: system{dependent: true}},
	{name: "degenerate", system: system{degenerate: true}},
	{name: "both", system: system{dependent: true, degenerate: true}},
	{name: "infeasible", system: system{infeasible: true}, soften: true},
	{name: "penalty", system: system{infeasible: true, dependent: true}, soften: true,
		gamma: func(rng *rand.Rand) float64 { return math.Pow(10, 12*rng.Float64()) }},
	{name: "scaled", system: system{dependent: true},
		scale: func(rng *rand.Rand) float64 { return math.Pow(10, 12*rng.Float64()-6) }},
}

// Random systems of every class are solved, cold and warm: no error, finite gaps,
// and multipliers that prove the answer.
func TestManySystems(t *testing.T) {
	count := 8
	if testing.Short() {
		count = 3
	}
	count = max(count, *many)
	for number, c := range manyClasses {
		if *manyLarge && number > 1 {
			break
		}
		t.Run(c.name, func(t *testing.T) {
			for k := *manyFirst; k < *manyFirst+count; k++ {
				rng := rand.New(rand.NewPCG(uint64(number), uint64(k)))
				s := c.system
				s.n = 2 + rng.IntN(59)
				if k%50 == 49 {
					s.n = 100 + rng.IntN(101)
				}
				if *manyLarge {
					s.n = 200 + rng.IntN(1801)
				}
				s.m = 2 * s.n
				set, v := s.random(rng)
				size := 1.0
				if c.scale != nil {
					size = c.scale(rng)
				}
				for _, x := range [][]float64{v, set.Lower, set.Upper} {
					for i := range x {
						x[i] *= size
					}
				}
				gamma := math.Inf(1)
				if c.gamma != nil {
					gamma = c.gamma(rng)
				}
				solver, err := proximal.Projector{Set: set, Soften: c.soften}.Compile(t.Context(), s.n)
				require.NoError(t, err, "system %d of %d variables", k, s.n)
				for _, state := range []string{"cold", "again", "warm"} {
					if state == "warm" {
						for i := range v {
							v[i] += 0.1 * size * rng.NormFloat64()
						}
					}
					what := fmt.Sprintf("system %d of %d variables, γ = %g, scale %g, %s", k, s.n, gamma, size, state)
					z := make([]float64, s.n)
					cert, err := solver.Penalised(z, v, gamma)
					require.NoError(t, err, what)
					if cert.Contradiction && math.IsInf(gamma, 1) { // the answer is that of the penalty form, which has multipliers
						soft := append([]float64(nil), z...)
						cert, err = solver.Penalised(z, v, proximal.SoftGamma)
						require.NoError(t, err, what)
						require.LessOrEqual(t, far(soft, z), 1e-6*size, what)
						optimal(t, solver, set, z, v, proximal.SoftGamma, cert, what)
						continue
					}
					optimal(t, solver, set, z, v, gamma, cert, what)
				}
			}
		})
	}
}

// optimal checks z = v − Aᵀy, and every multiplier against its row, to 1e-9 of the
// data or, if that is more, of what rounding the multipliers does.
func optimal(t *testing.T, solver *proximal.Solver, set constraint.Slabs, z, v []float64, gamma float64, cert proximal.Certificate, what string) {
	t.Helper()
	require.False(t, math.IsNaN(cert.Gap) || math.IsInf(cert.Gap, 0), "%s: gap %v", what, cert.Gap)
	y := make([]float64, len(set.A))
	solver.Multipliers(y)
	scale, pull := 1.0, 0.0
	for _, x := range v {
		scale = max(scale, math.Abs(x))
	}
	at := make([]float64, len(v))
	for j, r := range set.A {
		for k, i := range r.Index {
			at[i] += y[j] * r.Value[k]
			pull += math.Abs(y[j] * r.Value[k])
		}
	}
	tol := max(1e-9*scale, 0x1p-50*pull)
	for i := range z {
		require.InDelta(t, v[i]-at[i], z[i], tol, what)
	}
	limit := gamma / 2
	for j, r := range set.A {
		sum, norm := 0.0, 0.0
		dense := map[int32]float64{}
		for k, i := range r.Index {
			dense[i] += r.Value[k]
		}
		for i, x := range dense {
			sum, norm = sum+x*z[i], norm+x*x
		}
		off := tol * max(1, math.Sqrt(norm))
		if norm < 1e-20 { // its entries cancel
			require.Zero(t, y[j], what)
			continue
		}
		require.LessOrEqual(t, math.Abs(y[j]), limit*(1+1e-12), what)
		if y[j] < limit*(1-1e-12) {
			require.LessOrEqual(t, sum, set.Upper[j]+off, "%s, row %d", what, j)
		}
		if y[j] > -limit*(1-1e-12) {
			require.GreaterOrEqual(t, sum, set.Lower[j]-off, "%s, row %d", what, j)
		}
		// Multipliers of 1e-9 of the data are rounding where norms differ.
		if small := tol / max(1e-6, math.Sqrt(norm)); y[j] > small {
			require.GreaterOrEqual(t, sum, set.Upper[j]-off, "%s, row %d, multiplier %g", what, j, y[j])
		} else if y[j] < -small {
			require.LessOrEqual(t, sum, set.Lower[j]+off, "%s, row %d, multiplier %g", what, j, y[j])
		}
	}
}

// A row whose entries cancel, and whose bounds are what rounding left of them, asks for
// nothing in any units; one whose bounds are more excludes everything.
func TestCancelledRow(t *testing.T) {
	for _, scale := range []float64{1e-6, 1, 1e6} {
		set := constraint.Slabs{
			A:     []constraint.Row{{Index: []int32{0, 1, 0, 1}, Value: []float64{0.4, -1.3, -0.4, 1.3}}, {Index: []int32{1}, Value: []float64{1}}},
			Lower: []float64{1.3e-15 * scale, 2 * scale}, Upper: []float64{1.3e-15 * scale, 3 * scale},
		}
		solver, err := proximal.Projector{Set: set}.Compile(t.Context(), 2)
		require.NoError(t, err)
		z := make([]float64, 2)
		cert, err := solver.Solve(z, []float64{scale, 0})
		require.NoError(t, err)
		require.False(t, cert.Contradiction)
		require.InDeltaSlice(t, []float64{scale, 2 * scale}, z, 1e-12*scale)
	}
	set := constraint.Slabs{A: []constraint.Row{{Index: []int32{0, 0}, Value: []float64{1, -1}}}, Lower: []float64{1}, Upper: []float64{2}}
	_, err := proximal.Projector{Set: set}.Compile(t.Context(), 1)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
}

// Where rows contradict each other and the penalty outweighs the distance beyond what
// float64 holds, the gap shows it.
func TestGapAllowsForRounding(t *testing.T) {
	set := constraint.Slabs{
		A:     []constraint.Row{{Index: []int32{0}, Value: []float64{1}}, {Index: []int32{0}, Value: []float64{1}}},
		Lower: []float64{math.Inf(-1), 1}, Upper: []float64{0, math.Inf(1)},
	}
	solver, err := proximal.Projector{Set: set, Soften: true}.Compile(t.Context(), 1)
	require.NoError(t, err)
	z := make([]float64, 1)
	for _, gamma := range []float64{1, 1e3, 1e12} {
		cert, err := solver.Penalised(z, []float64{0.5}, gamma)
		require.NoError(t, err)
		require.GreaterOrEqual(t, cert.Gap, gamma/2*0x1p-51)
		require.LessOrEqual(t, cert.Gap, gamma*0x1p-40)
	}
}

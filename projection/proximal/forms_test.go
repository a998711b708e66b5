package proximal_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func bound(i int, a float64) constraint.Row {
	return constraint.Row{Index: []int32{int32(i)}, Value: []float64{a}}
}

// Bounds of one variable have a closed form: the minimum over a fine grid of a
// convex function of one variable is as good a judge as any.
func TestProximalOneVariable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-3, 3)
		var set constraint.Slabs
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			a, b := number.Draw(t, "a"), number.Draw(t, "b")
			lo, hi := min(a, b), max(a, b)
			switch rapid.IntRange(0, 3).Draw(t, "side") {
			case 0:
				lo = math.Inf(-1)
			case 1:
				hi = math.Inf(1)
			case 2:
				lo = hi
			}
			set.A = append(set.A, bound(0, rapid.SampledFrom([]float64{1, -1, 2, -0.5}).Draw(t, "factor")))
			set.Lower, set.Upper = append(set.Lower, lo), append(set.Upper, hi)
		}
		v := []float64{number.Draw(t, "v")}
		gamma := rapid.SampledFrom([]float64{0, 0.3, 1, 4, 50}).Draw(t, "gamma")
		objective := func(x float64) float64 {
			f := (x - v[0]) * (x - v[0]) / 2
			for j, r := range set.A {
				f += gamma / 2 * max(0, r.Value[0]*x-set.Upper[j], set.Lower[j]-r.Value[0]*x)
			}
			return f
		}
		solver, err := proximal.Projector{Set: set, Soften: true}.Compile(t.Context(), 1)
		require.NoError(t, err)
		z := make([]float64, 1)
		c, err := solver.Penalised(z, v, gamma)
		require.NoError(t, err)
		assert.InDelta(t, 0, c.Gap, 1e-12)
		at := objective(z[0])
		for x := -8.0; x <= 8; x += 0.01 {
			require.LessOrEqual(t, at, objective(x)+1e-12)
		}
		y := make([]float64, len(set.A))
		solver.Multipliers(y)
		pulled := v[0]
		for j, r := range set.A {
			pulled -= y[j] * r.Value[0]
			require.LessOrEqual(t, math.Abs(y[j]), gamma/2+1e-12)
		}
		assert.InDelta(t, z[0], pulled, 1e-12)
	})
}

// Rows that exclude each other: an error with a proof that can be checked by
// hand, before anything runs; or, if asked for, a soft answer.
func TestProximalContradictions(t *testing.T) {
	inf := math.Inf(1)
	sum := constraint.Row{Index: []int32{0, 1, 2}, Value: []float64{1, 1, 1}}
	for name, set := range map[string]constraint.Slabs{
		"bounds": {A: []constraint.Row{bound(1, 1), bound(1, -2)}, Lower: []float64{1, -inf}, Upper: []float64{inf, -4}},
		"sum":    {A: []constraint.Row{sum, bound(0, 1), bound(1, 1), bound(2, 1)}, Lower: []float64{4, -inf, -inf, -inf}, Upper: []float64{inf, 1, 1, 1}},
		"cycle": {A: []constraint.Row{
			{Index: []int32{0, 1}, Value: []float64{1, -1}}, {Index: []int32{1, 2}, Value: []float64{1, -1}}, {Index: []int32{2, 0}, Value: []float64{1, -1}}},
			Lower: []float64{-inf, -inf, -inf}, Upper: []float64{0, -0.5, 0}},
		"nothing": {A: []constraint.Row{{Index: []int32{0, 0}, Value: []float64{1, -1}}}, Lower: []float64{1}, Upper: []float64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			feasible := name == "bounds" // 1 ≤ z, −2z ≤ −4: both hold from 2 on
			_, err := proximal.Projector{Set: set}.Compile(t.Context(), 3)
			if feasible {
				require.NoError(t, err)
				set.Upper[0], set.Lower[1] = 1.5, -inf
				_, err = proximal.Projector{Set: set}.Compile(t.Context(), 3)
			}
			require.ErrorIs(t, err, constraint.ErrInfeasible)
			var proof *proximal.ContradictionError
			require.True(t, errors.As(err, &proof))
			assert.Contains(t, err.Error(), "exclude each other")
			total, slack := make([]float64, 3), 0.0
			for k, j := range proof.Rows {
				w := proof.Multiplier[k]
				for e, i := range set.A[j].Index {
					total[i] += w * set.A[j].Value[e]
				}
				if w > 0 {
					slack -= w * set.Upper[j]
				} else {
					slack -= w * set.Lower[j]
				}
			}
			if name != "nothing" {
				assert.InDelta(t, 0, far(total, make([]float64, 3)), 1e-6*slack)
				assert.Positive(t, slack)
			}
			solver, err := proximal.Projector{Set: set, Soften: true}.Compile(t.Context(), 3)
			require.NoError(t, err)
			z := []float64{0.3, 0.2, 0.1}
			c, err := solver.Solve(z, z)
			require.NoError(t, err)
			assert.True(t, c.Contradiction)
			assert.Positive(t, c.Violation)
		})
	}
}

// With equations and a metric P, the projection of a Gaussian mean is the
// conditional mean m + PAᵀ(APAᵀ)⁻¹(b − Am), whatever the size of P.
func TestProximalMetric(t *testing.T) {
	const n, m = 12, 4
	rng := rand.New(rand.NewPCG(5, 5))
	root := mat.NewDense(n, n, nil)
	a := mat.NewDense(m, n, nil)
	b, mean := mat.NewVecDense(m, nil), mat.NewVecDense(n, nil)
	for i := range n {
		mean.SetVec(i, rng.NormFloat64())
		for j := range n {
			root.Set(i, j, rng.NormFloat64())
		}
		for j := range m {
			a.Set(j, i, rng.NormFloat64())
		}
	}
	for j := range m {
		b.SetVec(j, rng.NormFloat64())
	}
	var p, ap, apa, gain mat.Dense
	p.Mul(root, root.T())
	ap.Mul(a, &p)
	apa.Mul(&ap, a.T())
	var miss, y, want mat.VecDense
	miss.MulVec(a, mean)
	miss.SubVec(b, &miss)
	require.NoError(t, y.SolveVec(&apa, &miss))
	gain.CloneFrom(ap.T())
	want.MulVec(&gain, &y)
	want.AddVec(mean, &want)
	for _, scale := range []float64{1, 1e-4, 1e3} {
		recipe := proximal.Projector{
			Set: constraint.Slabs{A: constraint.Rows(a.RawMatrix().Data, n), Lower: b.RawVector().Data, Upper: b.RawVector().Data},
			Metric: func(dst, v []float64, at float64) {
				for i := range dst {
					dst[i] = 0
					for j, x := range v {
						dst[i] += scale * at * p.At(i, j) * x
					}
				}
			},
		}
		solver, err := recipe.Compile(t.Context(), n)
		require.NoError(t, err)
		z := make([]float64, n)
		for _, at := range []float64{1, 0.5} {
			solver.At(at)
			c, err := solver.Solve(z, mean.RawVector().Data)
			require.NoError(t, err)
			assert.LessOrEqual(t, far(z, want.RawVector().Data), 1e-9, "scale %v: %+v", scale, c)
			solver.Multipliers(make([]float64, m))
		}
	}
}

// disc is g(z) = (|z|² − 1)/2 and, if two, (|z − e|² − 1)/2 with e the first
// unit vector.
type disc struct{ two bool }

func (d disc) Len() int {
	if d.two {
		return 2
	}
	return 1
}

func (d disc) Eval(g, z []float64) {
	for j := range g {
		g[j] = -0.5
		for i, x := range z {
			if j == 1 && i == 0 {
				x--
			}
			g[j] += x * x / 2
		}
	}
}

func (d disc) Gradient(dst []float64, j int, z []float64) {
	copy(dst, z)
	if j == 1 {
		dst[0]--
	}
}

func (d disc) Value(g []float64, v []float32) { d.Eval(g, wide(v)) }
func (d disc) Pull(dst, v []float32, w []float64) {
	for j, x := range w {
		grad := make([]float64, len(v))
		d.Gradient(grad, j, wide(v))
		for i, y := range grad {
			dst[i] += float32(x * y)
		}
	}
}

func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// smoothOnly hides the float64 form of a disc.
type smoothOnly struct{ constraint.Smooth }

// The nearest point of a disc and of a lens are known; so is the minimiser of
// the penalty form, v/(1+κ) while that is outside the disc.
func TestProximalCurved(t *testing.T) {
	v := []float64{0.5, 3, 0}
	for name, c := range map[string]struct {
		set  constraint.Smooth
		g    float64
		want []float64
		tol  float64
	}{
		"disc":         {disc{}, math.Inf(1), []float64{0.5 / math.Hypot(0.5, 3), 3 / math.Hypot(0.5, 3), 0}, 1e-8},
		"lens":         {disc{two: true}, math.Inf(1), []float64{0.5, math.Sqrt(0.75), 0}, 1e-8},
		"penalty":      {disc{}, 2, []float64{0.25, 1.5, 0}, 1e-7},
		"weak":         {disc{}, 0.2, []float64{0.5 / 1.1, 3 / 1.1, 0}, 1e-7},
		"float32 disc": {smoothOnly{disc{}}, 20, []float64{0.5 / math.Hypot(0.5, 3), 3 / math.Hypot(0.5, 3), 0}, 1e-6},
	} {
		t.Run(name, func(t *testing.T) {
			solver, err := proximal.Projector{Set: c.set}.Compile(t.Context(), 3)
			require.NoError(t, err)
			z := make([]float64, 3)
			cert, err := solver.Penalised(z, v, c.g)
			require.NoError(t, err)
			assert.LessOrEqual(t, far(z, c.want), c.tol, "%v %+v", z, cert)
		})
	}
}

func TestProximalProjectsForRunners(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 1))
	set, inside := market(rng, true)
	p, err := proximal.Projector{Set: set}.Bind(t.Context(), 576, 1, 2)
	require.NoError(t, err)
	nearest := p.(*proximal.Projection)
	v, again := make([]float32, 576), make([]float32, 576)
	for i := range v {
		v[i] = float32(inside[i] + rng.NormFloat64())
	}
	raw := append([]float32(nil), v...)
	violation, err := nearest.Project(ctx, 0, v, 0.5, 0.4, nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, violation, 1e-10)
	g := make([]float64, set.Len())
	set.Value(g, v)
	for _, x := range g {
		require.LessOrEqual(t, x, 1e-6)
	}
	// Projecting twice changes nothing beyond rounding.
	copy(again, v)
	_, err = nearest.Project(ctx, 1, again, 0.5, 0.4, nil)
	require.NoError(t, err)
	for i := range v {
		require.InDelta(t, v[i], again[i], 1e-6)
	}
	// The same prediction gives the same result from other multipliers.
	for range 2 {
		nearest.Copy(1, 0)
		copy(again, raw)
		_, err = nearest.Project(ctx, 1, again, 0.5, 0.4, nil)
		require.NoError(t, err)
		for i := range v {
			require.InDelta(t, v[i], again[i], 1e-6)
		}
		nearest.Reset(0)
	}
	assert.Zero(t, testing.AllocsPerRun(3, func() {
		copy(again, raw)
		_, _ = nearest.Project(ctx, 1, again, 0.5, 0.4, nil)
	}))
	raw[7] = float32(math.NaN())
	_, err = nearest.Project(ctx, 1, raw, 0.5, 0.4, nil)
	assert.ErrorContains(t, err, "v[7] = NaN, want finite")
}

func TestProximalRefusals(t *testing.T) {
	row := bound(0, 1)
	for want, p := range map[string]proximal.Projector{
		"Set is nil":         {},
		"len(B)":             {Set: constraint.Linear{A: []constraint.Row{row}}},
		"Index[0] = 0":       {Set: constraint.Slabs{A: []constraint.Row{bound(-1, 1)}, Lower: []float64{0}, Upper: []float64{0}}},
		"Lower[0] = NaN":     {Set: constraint.Slabs{A: []constraint.Row{row}, Lower: []float64{math.NaN()}, Upper: []float64{0}}},
		"row 0 is 1 ≤ … ≤ 0": {Set: constraint.Slabs{A: []constraint.Row{row}, Lower: []float64{1}, Upper: []float64{0}}},
	} {
		_, err := p.Compile(t.Context(), 2)
		if want == "Index[0] = 0" {
			assert.ErrorContains(t, err, "Index[0] = -1")
			continue
		}
		assert.ErrorContains(t, err, want)
	}
	ok := proximal.Projector{Set: constraint.Linear{A: []constraint.Row{row}, B: []float64{1}}}
	for _, shape := range [][3]int{{2, 2, 1}, {2, 1, 0}, {0, 1, 1}} {
		_, err := ok.Bind(t.Context(), shape[0], shape[1], shape[2])
		assert.ErrorContains(t, err, "proximal: ")
	}
	solver, err := ok.Compile(t.Context(), 2)
	require.NoError(t, err)
	z := make([]float64, 2)
	_, err = solver.Penalised(z, z, -1)
	assert.ErrorContains(t, err, "γ = -1, want ≥ 0")
	assert.PanicsWithValue(t, "proximal: len(z) = 1, want 2", func() { _, _ = solver.Solve(z[:1], z) })
}

func TestGammaSchedules(t *testing.T) {
	alpha := func(t float64) float64 { return 1 - t }
	e := proximal.ExpGamma(alpha, 0)
	assert.InDelta(t, math.E, e(1, 1), 1e-12)
	assert.InDelta(t, math.Exp(4), e(0.5, 0.25), 1e-10)
	assert.Equal(t, 1e5, e(0.1, 0.05))
	assert.Equal(t, 1e5, e(0.1, 0))
	assert.Equal(t, 7.0, proximal.ExpGamma(alpha, 7)(0.1, 0.01))
	q := proximal.PowerGamma(2, 0)
	assert.InDelta(t, 0.25e5, q(1, 0.5), 1e-7)
	assert.Zero(t, q(1, 1))
	assert.Equal(t, 3.0, proximal.ConstantGamma(3)(1, 0))
	assert.Panics(t, func() { proximal.PowerGamma(0, 1) })
}

// discAndRow is a disc and a row that holds with a margin.
type discAndRow struct{ disc }

func (discAndRow) Len() int { return 2 }

func (d discAndRow) Split() (constraint.Slabs, constraint.Curved) {
	return constraint.Slabs{A: []constraint.Row{{Index: []int32{0}, Value: []float64{1}}}, Lower: []float64{-10}, Upper: []float64{10}}, d.disc
}

func (d discAndRow) Value(g []float64, v []float32) {
	g[0] = math.Abs(float64(v[0])) - 10
	d.disc.Value(g[1:], v)
}

func (d discAndRow) Pull(dst, v []float32, w []float64) { d.disc.Pull(dst, v, w[1:]) }

// The multiplier of a disc is known: z = v/|v|, so v − z = (|v| − 1)·z is that many times
// the gradient. Steps that were damped on the way leave it so.
func TestMultipliersAfterDampedSteps(t *testing.T) {
	for _, v := range [][]float64{{3, 4}, {0.6, 1}, {30, -40}, {1, 8, 2}, {100, 1, 0, 5}} {
		solver, err := proximal.Projector{Set: discAndRow{}}.Compile(t.Context(), len(v))
		require.NoError(t, err)
		z, y := make([]float64, len(v)), make([]float64, 2)
		_, err = solver.Solve(z, v)
		require.NoError(t, err)
		solver.Multipliers(y)
		size := 0.0
		for _, x := range v {
			size += x * x
		}
		assert.Zero(t, y[0])
		assert.InEpsilon(t, math.Sqrt(size)-1, y[1], 1e-6, "%v", v)
	}
}

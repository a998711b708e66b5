package diffusion_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// The clock makes Mix rounds at every point of the grid, and states are v and noise in
// the shares of the time: noise that was kept, or drawn anew after Resample rounds.
func TestECIRounds(t *testing.T) {
	for _, p := range []diffusion.ECI{{}, {Mix: 3}, {Mix: 2, Resample: 3}, {Mix: 3, Resample: -1}} {
		mix := max(1, p.Mix)
		steps := exact.Must(p.Bind(context.Background(), 2, 1))
		assert.Equal(t, 4*mix, steps.(diffusion.Clocked).MaxSteps(4))
		r := sampler.NewStream(1, 1)
		x := make([]float32, 2)
		steps.Prior(x, r)
		began, v := x[0], []float32{3, -4}
		now := 1.0
		last := float64(began)
		for k := range 4 * mix {
			s := steps.Next(x, now, k, 4, r)
			assert.Equal(t, 1-float64((k+1)/mix)/4, s, "%+v, round %d", p, k)
			require.NoError(t, steps.Reverse(x, v, v, now, s, r))
			size := math.Hypot(1-s, s)
			if s > 0 {
				e := (float64(x[0])*size - (1-s)*3) / s
				fresh := p.Resample == 0 || p.Resample > 0 && (k+1)%p.Resample == 0
				assert.Equal(t, fresh, math.Abs(e-last) > 1e-5, "%+v, round %d: ε = %v after %v", p, k, e, last)
				last = e
			}
			now = s
		}
		assert.Equal(t, v, x)
		assert.Zero(t, now)
	}
	assert.Equal(t, math.MaxInt, exact.Must(diffusion.ECI{Mix: 3}.Bind(context.Background(), 1, 1)).(diffusion.Clocked).MaxSteps(math.MaxInt/2))
}

func TestECIRefusals(t *testing.T) {
	bind := func(p diffusion.ECI, sites, levels int) error {
		return exact.Error(p.Bind(context.Background(), sites, levels))
	}
	assert.EqualError(t, bind(diffusion.ECI{}, 0, 1), "diffusion: ECI: Bind: sites = 0, levels = 1, want ≥ 1 and 1")
	assert.EqualError(t, bind(diffusion.ECI{}, 3, 2), "diffusion: ECI: Bind: sites = 3, levels = 2, want ≥ 1 and 1")
	assert.EqualError(t, bind(diffusion.ECI{Mix: -1}, 3, 1), "diffusion: ECI: Mix = -1, Resample = 0, want 0 … 1048576 and ≥ −1")
	assert.EqualError(t, bind(diffusion.ECI{Resample: -2}, 3, 1), "diffusion: ECI: Mix = 0, Resample = -2, want 0 … 1048576 and ≥ −1")
	assert.ErrorContains(t, bind(diffusion.ECI{Schedule: noise.LinearBeta{From: 2}}, 3, 1), "noise: LinearBeta")
	bad := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, _ energy.Noised[float32]) error {
		v[0], v[1] = 0, float32(math.NaN())
		return nil
	}}
	d, err := diffusion.New(context.Background(), bad, diffusion.ECI{}, diffusion.Config{Steps: 2})
	require.NoError(t, err)
	var not *diffusion.PredictionError
	require.True(t, errors.As(d.Sample(context.Background(), make([]float32, 2)), &not))
	assert.Equal(t, 1, not.Site)
}

// conserved is a linear and a curved equation: Σz = 1, Σz² = 6.
type conserved struct{}

func (conserved) Len() int { return 2 }

func (conserved) Eval(g, z []float64) {
	g[0], g[1] = -1, -6
	for _, x := range z {
		g[0] += x
		g[1] += x * x
	}
}

func (conserved) Gradient(dst []float64, j int, z []float64) {
	for i, x := range z {
		dst[i] = 1
		if j == 1 {
			dst[i] = 2 * x
		}
	}
}

var _ constraint.Curved = conserved{}

// By every form of the flow samples keep equations, linear and curved, to the rounding of
// their float32 numbers; in float64 the projection keeps them to 1e-9. A flow without a
// projector does not.
func TestSamplesKeepEquations(t *testing.T) {
	const n, sites = 20, 6
	cov := make([]float64, sites*sites)
	for i := range sites {
		for j := range sites {
			cov[i*sites+j] = math.Pow(0.8, math.Abs(float64(i-j)))
		}
	}
	model := exact.Must(denoise.NewGaussian(make([]float64, sites), cov))
	onto := newton.Projector{Equations: conserved{}}
	solver := exact.Must(onto.Compile(sites))
	worst := func(p diffusion.Process[float32], projector diffusion.Projector) (worst float64) {
		left := 0.0
		d, err := diffusion.New(context.Background(), model, p, diffusion.Config{Steps: 8, Seed: 2, Workers: 1, Projector: projector,
			Observe: func(s *diffusion.Snapshot) {
				if s.To == 0 {
					left = max(left, s.Violation)
				}
			}})
		require.NoError(t, err)
		x := make([]float32, n*sites)
		require.NoError(t, d.Sample(context.Background(), x))
		assert.LessOrEqual(t, left, 1e-9)
		g, z := make([]float64, 2), make([]float64, sites)
		for k := range n {
			for i := range z {
				z[i] = float64(x[k*sites+i])
			}
			conserved{}.Eval(g, z)
			worst = max(worst, math.Abs(g[0]), math.Abs(g[1]))
			require.NoError(t, solver.Solve(z, z))
			conserved{}.Eval(g, z)
			require.LessOrEqual(t, max(math.Abs(g[0]), math.Abs(g[1])), 1e-9)
		}
		return worst
	}
	for _, p := range []diffusion.Process[float32]{diffusion.ECI{}, diffusion.ECI{Resample: -1}, diffusion.ECI{Mix: 2}, diffusion.Gaussian{Schedule: noise.Straight{}}} {
		assert.Less(t, worst(p, onto), 3e-6, "%+v", p)
		assert.Greater(t, worst(p, nil), 0.1, "%+v without a projector", p)
	}
}

// Steps of Gaussian on the schedule of straight paths are Euler's method for the
// velocity z ↦ E[ε − x_0 | z].
func TestDiffusionOnStraightPathsIsEuler(t *testing.T) {
	steps := exact.Must(diffusion.Gaussian{Schedule: noise.Straight{}}.Bind(context.Background(), 1, 1))
	var r sampler.Stream
	for _, c := range []struct{ t, s float64 }{{1, 0.75}, {0.75, 0.5}, {0.5, 0.1}, {0.1, 0}} {
		x, clean := float32(0.7), float32(-1.25)
		size := math.Hypot(1-c.t, c.t)
		z := float64(x) * size
		u := (z - float64(clean)) / c.t
		want := (z + (c.s-c.t)*u) / math.Hypot(1-c.s, c.s)
		got := []float32{x}
		require.NoError(t, steps.Reverse(got, []float32{clean}, []float32{clean}, c.t, c.s, &r))
		assert.InDelta(t, want, got[0], 1e-6, "%v", c)
	}
}

// eciLimit is how many standard deviations a sum of squares of normal numbers, of tens of
// thousands, is off at most: 4e-8 for each of the at most 15 that are compared, and no
// more than twice that for what skew is left.
const eciLimit = 5.5

// euler is the factor by which Euler's method for the flow of N(0, c) multiplies
// noise.
func euler(c float64, steps int) float64 {
	a := 1.0
	for k := range steps {
		s := 1 - float64(k)/float64(steps)
		a += -1 / float64(steps) * (s - (1-s)*c) / ((1-s)*(1-s)*c + s*s) * a
	}
	return a
}

// A flow of a Gaussian N(m, C) is the linear map that Euler's method has, and tends to
// the distribution itself.
func TestFlowOfAGaussian(t *testing.T) {
	exact.SkipUnderRace(t)
	const n = 20_000
	mean, cov := []float64{0.5, -1}, []float64{1, 0.6, 0.6, 0.8}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(mat.NewSymDense(2, cov), true))
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	draw := func(schedule noise.Schedule) []float32 {
		d, err := diffusion.New(context.Background(), exact.Must(denoise.NewGaussian(mean, cov)),
			diffusion.Gaussian{Schedule: schedule}, diffusion.Config{Steps: 20, Seed: 3})
		require.NoError(t, err)
		x := make([]float32, 2*n)
		require.NoError(t, d.Sample(context.Background(), x))
		return x
	}
	// z is how far mean and variance along an eigenvector are from those of Euler's map,
	// in standard deviations.
	worst := func(x []float32) (z float64) {
		for k, c := range eigen.Values(nil) {
			want := euler(c, 20)
			sum, square := 0.0, 0.0
			for i := range n {
				y := 0.0
				for j := range 2 {
					y += basis.At(j, k) * (float64(x[2*i+j]) - mean[j]) / want
				}
				sum, square = sum+y, square+y*y
			}
			z = max(z, math.Abs(sum)/math.Sqrt(n), math.Abs(square-n)/math.Sqrt(2*n))
		}
		return z
	}
	assert.Less(t, worst(draw(noise.Straight{})), eciLimit)
	assert.Greater(t, worst(draw(noise.LinearBeta{})), eciLimit, "the twin: other steps are another map")

	for _, c := range append(eigen.Values(nil), 0.01, 4) {
		// The error of Euler's method falls as 1/T.
		one, two := math.Abs(euler(c, 200)-math.Sqrt(c)), math.Abs(euler(c, 400)-math.Sqrt(c))
		assert.Less(t, one, 0.02*max(1, c))
		assert.InDelta(t, 0.5, two/one, 0.02, "c = %v", c)
	}
}

// eciVariance of a number N(0, c) that ECI draws, by the recursion of the coefficients of
// the noises that it is a sum of.
func eciVariance(p diffusion.ECI, c float64, steps int) float64 {
	coef := []float64{1}
	rounds := 0
	for k := range steps {
		s := 1 - float64(k)/float64(steps)
		for m := range max(1, p.Mix) {
			if rounds++; p.Resample == 0 || p.Resample > 0 && rounds%p.Resample == 0 {
				coef = append(coef, 0)
			}
			next := s
			if m == max(1, p.Mix)-1 {
				next = 1 - float64(k+1)/float64(steps)
			}
			gain := c * (1 - s) / (c*(1-s)*(1-s) + s*s)
			for i := range coef {
				coef[i] *= (1 - next) * gain
			}
			coef[len(coef)-1] += next
		}
	}
	sum := 0.0
	for _, v := range coef {
		sum += v * v
	}
	return sum
}

// Samples have the variance of the recursion, which the doc of ECI tabulates: not that
// of the model.
func TestECIHasItsDistribution(t *testing.T) {
	exact.SkipUnderRace(t)
	const n, steps = 10_000, 10
	for _, p := range []diffusion.ECI{{}, {Mix: 3}, {Resample: -1}, {Mix: 2, Resample: 3}, {Mix: 2, Resample: -1}} {
		d, err := diffusion.New(context.Background(), exact.Must(denoise.NewGaussian([]float64{0}, []float64{1})), p, diffusion.Config{Steps: steps, Seed: 5})
		require.NoError(t, err)
		x := make([]float32, n)
		require.NoError(t, d.Sample(context.Background(), x))
		square := 0.0
		for _, v := range x {
			square += float64(v) * float64(v)
		}
		off := func(variance float64) float64 { return math.Abs(square/variance-n) / math.Sqrt(2*n) }
		assert.Less(t, off(eciVariance(p, 1, steps)), eciLimit, "%+v", p)
		assert.Greater(t, off(1), eciLimit, "%+v: the model's own", p)
	}
	for k, steps := range []int{10, 50, 200, 1000} {
		assert.InDelta(t, []float64{0.40, 0.47, 0.49, 0.50}[k], eciVariance(diffusion.ECI{}, 1, steps), 0.005)
		assert.InEpsilon(t, []float64{2.2, 8.7, 25, 79}[k], eciVariance(diffusion.ECI{Resample: -1}, 1, steps), 0.02)
	}
}

package flow_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/flow"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// steps of Gaussian on the schedule of straight paths are Euler's method for the
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

// limit is how many standard deviations a sum of squares of normal numbers, of tens of
// thousands, is off at most: 4e-8 for each of the at most 15 that are compared, and no
// more than twice that for what skew is left.
const limit = 5.5

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
	assert.Less(t, worst(draw(noise.Straight{})), limit)
	assert.Greater(t, worst(draw(noise.LinearBeta{})), limit, "the twin: other steps are another map")

	for _, c := range append(eigen.Values(nil), 0.01, 4) {
		// The error of Euler's method falls as 1/T.
		one, two := math.Abs(euler(c, 200)-math.Sqrt(c)), math.Abs(euler(c, 400)-math.Sqrt(c))
		assert.Less(t, one, 0.02*max(1, c))
		assert.InDelta(t, 0.5, two/one, 0.02, "c = %v", c)
	}
}

// variance of a number N(0, c) that ECI draws, by the recursion of the coefficients of
// the noises that it is a sum of.
func variance(p flow.ECI, c float64, steps int) float64 {
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

// Samples have the variance of the recursion, which the package doc tabulates: not that
// of the model.
func TestECIHasItsDistribution(t *testing.T) {
	exact.SkipUnderRace(t)
	const n, steps = 10_000, 10
	for _, p := range []flow.ECI{{}, {Mix: 3}, {Resample: -1}, {Mix: 2, Resample: 3}, {Mix: 2, Resample: -1}} {
		d, err := diffusion.New(context.Background(), exact.Must(denoise.NewGaussian([]float64{0}, []float64{1})), p, diffusion.Config{Steps: steps, Seed: 5})
		require.NoError(t, err)
		x := make([]float32, n)
		require.NoError(t, d.Sample(context.Background(), x))
		square := 0.0
		for _, v := range x {
			square += float64(v) * float64(v)
		}
		off := func(variance float64) float64 { return math.Abs(square/variance-n) / math.Sqrt(2*n) }
		assert.Less(t, off(variance(p, 1, steps)), limit, "%+v", p)
		assert.Greater(t, off(1), limit, "%+v: the model's own", p)
	}
	for k, steps := range []int{10, 50, 200, 1000} {
		assert.InDelta(t, []float64{0.40, 0.47, 0.49, 0.50}[k], variance(flow.ECI{}, 1, steps), 0.005)
		assert.InEpsilon(t, []float64{2.2, 8.7, 25, 79}[k], variance(flow.ECI{Resample: -1}, 1, steps), 0.02)
	}
}

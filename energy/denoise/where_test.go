package denoise_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kernels returns a kernel density of 12 windows of 4 entries, and the same as a
// mixture.
func kernels(t *testing.T) (*denoise.Windows, *continuous.Mixture) {
	rng := rand.New(rand.NewPCG(4, 4))
	data, means := make([]float32, 48), make([]float64, 48)
	weights, variances := make([]float64, 12), make([]float64, 12)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
		means[i] = float64(data[i])
		weights[i/4], variances[i/4] = 1, 0.3*0.3
	}
	w, err := denoise.NewWindows(data, 4, denoise.WindowsConfig{Bandwidth: 0.3})
	require.NoError(t, err)
	m, err := continuous.NewDiagonal(weights, means, variances)
	require.NoError(t, err)
	return w, m
}

// A kernel density given equations, twice over, is the mixture of the same
// components given them: predictions, covariances, probability and draws.
// Values that no window comes near in the range of numbers are refused.
func TestWindowsWhereRefusesWhatOverflows(t *testing.T) {
	w, err := denoise.NewWindows([]float32{0, 1}, 1, denoise.WindowsConfig{Bandwidth: 1})
	require.NoError(t, err)
	_, _, err = w.Where([]float64{1}, []float64{1e200})
	require.ErrorContains(t, err, "log-weights overflow")
	_, _, err = w.Where([]float64{1}, []float64{1e39})
	require.ErrorContains(t, err, "window 0 moves to +Inf at site 0")
}

func TestWindowsWhereIsTheMixture(t *testing.T) {
	w, m := kernels(t)
	rows := []float64{1, 0.5, 0, -1, 0, 1, 1, 0}
	values := []float64{0.4, -0.7}
	first, logFirst, err := w.Where(rows[:4], values[:1])
	require.NoError(t, err)
	given, logSecond, err := first.Where(rows[4:], values[1:])
	require.NoError(t, err)
	_, logBoth, err := w.Where(rows, values)
	require.NoError(t, err)
	want, logp, err := m.Where(rows, values)
	require.NoError(t, err)
	assert.InDelta(t, logp, logFirst+logSecond, 1e-6)
	assert.InDelta(t, logp, logBoth, 1e-6)
	dense, err := denoise.NewMixture(want)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, alpha := range []float64{1e-4, 0.3, 0.9, 0.999} {
		q := seen(rng, 4, alpha, false)
		a, b := make([]float32, 8), make([]float32, 8)
		require.NoError(t, given.Denoise(t.Context(), a, q))
		require.NoError(t, dense.Denoise(t.Context(), b, q))
		for i := range a {
			require.InDelta(t, b[i], a[i], 3e-6, "ᾱ = %v", alpha)
		}
		for _, pair := range []struct {
			w *denoise.Windows
			m *continuous.Mixture
		}{{w, m}, {given, want}} {
			mean, product := make([]float64, 4), make([]float64, 8)
			trace, err := pair.w.Moments(mean, product, rows, q.X[:4], alpha)
			require.NoError(t, err)
			wantMean, wantProduct := make([]float64, 4), make([]float64, 8)
			wantTrace := pair.m.Moments(wantMean, wantProduct, rows, q.X[:4], alpha)
			require.InDeltaSlice(t, wantMean, mean, 3e-6)
			require.InDeltaSlice(t, wantProduct, product, 3e-6)
			require.InDelta(t, wantTrace, trace, 3e-6)
		}
	}
	const n = 20000
	mean, sum, x := make([]float64, 4), make([]float64, 4), make([]float32, 4)
	want.Mean(mean)
	src := rand.NewPCG(6, 6)
	for range n {
		given.Draw(x, src)
		assert.InDelta(t, values[0], float64(x[0]+0.5*x[1]-x[3]), 1e-5)
		for i, v := range x {
			sum[i] += float64(v) / n
		}
	}
	for i := range mean { // no component or coordinate strays by more than 3
		require.InDelta(t, mean[i], sum[i], 4.9*3/math.Sqrt(n))
	}
	for what, err := range map[string]error{
		"rank 1, want 2": exact.Error(three(w.Where(append(rows[:4:4], rows[:4]...), values))),
		"rank 0, want 1": exact.Error(three(given.Where(rows[:4], values[:1]))),
		"number 0 = NaN": exact.Error(three(w.Where([]float64{math.NaN(), 0, 0, 0}, values[:1]))),
		"one or more":    exact.Error(three(w.Where(nil, nil))),
	} {
		require.ErrorContains(t, err, what)
	}
	empirical, err := denoise.NewWindows(make([]float32, 4), 4, denoise.WindowsConfig{})
	require.NoError(t, err)
	_, _, err = empirical.Where(rows[:4], values[:1])
	require.ErrorContains(t, err, "Bandwidth = 0, want > 0")
	_, err = empirical.Moments(mean, nil, nil, x, 1)
	require.ErrorContains(t, err, "alpha = 1, want < 1")
	require.PanicsWithValue(t, "denoise: Windows: Draw: src = nil", func() { w.Draw(x, nil) })
	require.PanicsWithValue(t, "denoise: Windows: Draw: src = (*rand.PCG)(nil), want a value", func() { w.Draw(x, (*rand.PCG)(nil)) })
}

func three(w *denoise.Windows, _ float64, err error) (*denoise.Windows, error) { return w, err }

// Three ancestral steps leave the distribution exact, in one dimension where it
// can be counted; three steps led by the mean do not.
func TestAncestralIsExact(t *testing.T) {
	m, err := continuous.NewDiagonal([]float64{1, 2}, []float64{-1, 1.5}, []float64{0.1, 0.3})
	require.NoError(t, err)
	normal := func(x, m, v float64) float64 { return math.Erfc((m-x)/math.Sqrt(2*v)) / 2 }
	bins := exact.Binned(func(x float64) float64 { return normal(x, -1, 0.1)/3 + 2*normal(x, 1.5, 0.3)/3 })
	ancestral, err := denoise.NewAncestral(m)
	require.NoError(t, err)
	mean, err := denoise.NewMixture(m)
	require.NoError(t, err)
	counts := func(d energy.Denoiser[float32], eta float64) []int {
		p := diffusion.Gaussian{Schedule: noise.LinearBeta{To: 0.1, Steps: 200}, Eta: eta}
		r, err := diffusion.New(t.Context(), d, p, diffusion.Config{Steps: 3, Seed: 9})
		require.NoError(t, err)
		x := make([]float32, 20000)
		require.NoError(t, r.Sample(t.Context(), x))
		return exact.Bins(x, 1)
	}
	for _, eta := range []float64{0, 1} {
		exact.Counts(t, counts(ancestral, eta), bins, exact.Rate)
		require.Less(t, exact.PValue(counts(mean, eta), bins), exact.Rate)
	}
	_, err = denoise.NewAncestral(nil)
	require.ErrorContains(t, err, "m is nil")
	q := seen(rand.New(rand.NewPCG(1, 1)), 1, 0.5, true)
	q.Clean[0] = true
	require.ErrorContains(t, ancestral.Denoise(context.Background(), q.X, q), "Noised.Clean[")
	q.Src = nil
	require.ErrorContains(t, ancestral.Denoise(context.Background(), q.X, q), "Noised.Src = nil")
}

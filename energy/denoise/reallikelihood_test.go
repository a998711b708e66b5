package denoise_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// levels are signal levels of six steps.
var levels = []float64{0.99, 0.9, 0.7, 0.4, 0.15, 0.02}

// linear is a chain of one number whose denoiser is that of N(m, v), its mean and variance by
// recursion: written apart from the code under test.
func linear(m, v float64) (mean, variance float64) {
	mean, variance = 0, 1
	for t := len(levels) - 1; t >= 0; t-- {
		a := levels[t]
		gain := math.Sqrt(a) * v / (a*v + 1 - a) // x̂ = m + gain·(x − √a·m)
		if t == 0 {
			mean = m + gain*(mean-math.Sqrt(a)*m)
			return mean, gain*gain*variance + (1-a)/a
		}
		b := levels[t-1]
		// x_{t−1} given x_t and x_0, by Bayes's rule from N(√b·x_0, 1−b) and √(a/b)·x_{t−1} + N(0, 1−a/b).
		precision := 1/(1-b) + (a/b)/(1-a/b)
		ofClean, ofNoisy := math.Sqrt(b)/(1-b)/precision, math.Sqrt(a/b)/(1-a/b)/precision
		slope := ofNoisy + ofClean*gain
		mean = slope*mean + ofClean*m*(1-gain*math.Sqrt(a))
		variance = slope*slope*variance + 1/precision
	}
	return mean, variance
}

func density(x, m, v float64) float64 {
	return math.Exp(-(x-m)*(x-m)/(2*v)) / math.Sqrt(2*math.Pi*v)
}

// The density of a chain of linear steps is known: the mean ratio is that, and the mean of the
// logarithms is below.
func TestRealLikelihood(t *testing.T) {
	const m, v = 0.7, 0.5
	d := exact.Must(denoise.NewGaussian([]float64{m}, []float64{v}))
	mean, variance := linear(m, v)
	x := []float32{-0.5, 0.2, 0.7, 1.3, 2}
	l := exact.Must(denoise.NewRealLikelihood(d, levels, 4000, 1))
	one := exact.Must(denoise.NewRealLikelihood(d, levels, 1, 2))
	logp, se := make([]float64, 5), make([]float64, 5)
	require.NoError(t, l.LogProb(t.Context(), logp, se, x))
	below := make([]float64, 2000)
	for k, p := range logp {
		want := math.Log(density(float64(x[k]), mean, variance))
		require.Less(t, se[k], 0.05)
		require.InDelta(t, want, p, 5*se[k], x[k]) // 5e-7 each
		many := make([]float32, len(below))
		for i := range many {
			many[i] = x[k]
		}
		require.NoError(t, one.LogProb(t.Context(), below, nil, many))
		bound := 0.0
		for _, b := range below {
			bound += b / float64(len(below))
		}
		require.Less(t, bound, want, "the bound with one path")
	}
	// Two independent numbers have the product.
	pair := exact.Must(denoise.NewRealLikelihood(exact.Must(denoise.NewGaussian([]float64{m, m}, []float64{v, 0, 0, v})), levels, 4000, 3))
	require.NoError(t, pair.LogProb(t.Context(), logp[:1], se[:1], x[1:3]))
	want := math.Log(density(float64(x[1]), mean, variance) * density(float64(x[2]), mean, variance))
	require.InDelta(t, want, logp[0], 5*se[0])
	var inf [1]float64
	require.NoError(t, one.LogProb(t.Context(), logp[:1], inf[:], x[:1]))
	require.Equal(t, math.Inf(1), inf[0])
}

// The divergence of two chains of linear steps, by second moments of the noised states, and
// that it is above the divergence of what they lead to.
func TestPathKL(t *testing.T) {
	const m, v, m2, v2 = 0.7, 0.5, -0.2, 1.5
	d, other := exact.Must(denoise.NewGaussian([]float64{m}, []float64{v})), exact.Must(denoise.NewGaussian([]float64{m2}, []float64{v2}))
	want := 0.0
	for k, a := range levels {
		g, g2 := math.Sqrt(a)*v/(a*v+1-a), math.Sqrt(a)*v2/(a*v2+1-a)
		shift := m*(1-g*math.Sqrt(a)) - m2*(1-g2*math.Sqrt(a)) + (g-g2)*math.Sqrt(a)*m // mean of x̂ − x̂′
		square := shift*shift + (g-g2)*(g-g2)*(a*v+1-a)
		if k == 0 {
			want += square * a / (1 - a) / 2
			continue
		}
		b := levels[k-1]
		precision := 1/(1-b) + (a/b)/(1-a/b)
		c := math.Sqrt(b) / (1 - b) / precision
		want += c * c * square * precision / 2
	}
	const n = 20000
	r := rand.New(rand.NewPCG(4, 4))
	x, kl := make([]float32, n), make([]float64, n)
	for i := range x {
		x[i] = float32(m + math.Sqrt(v)*r.NormFloat64())
	}
	l := exact.Must(denoise.NewRealLikelihood(d, levels, 1, 5))
	require.NoError(t, l.PathKL(t.Context(), kl, other, x))
	mean, squares := 0.0, 0.0
	for _, k := range kl {
		mean += k / n
		squares += k * k / n
	}
	require.InDelta(t, want, mean, 5*math.Sqrt((squares-mean*mean)/n))
	mp, vp := linear(m, v)
	mq, vq := linear(m2, v2)
	ends := (math.Log(vq/vp) + vp/vq + (mp-mq)*(mp-mq)/vq - 1) / 2
	require.Greater(t, mean, ends)
	require.NoError(t, l.PathKL(t.Context(), kl[:1], d, x[:1]))
	require.Zero(t, kl[0], "of a chain from itself")
}

func TestRealLikelihoodErrors(t *testing.T) {
	d := exact.Must(denoise.NewGaussian([]float64{0}, []float64{1}))
	for want, err := range map[string]error{
		"d = nil":                         exact.Error(denoise.NewRealLikelihood(nil, levels, 1, 1)),
		"1 sites and 2 levels":            exact.Error(denoise.NewRealLikelihood(energy.DenoiserFunc[float32]{Sites: 1, Levels: 2}, levels, 1, 1)),
		"0 signal levels and 1 paths":     exact.Error(denoise.NewRealLikelihood(d, nil, 1, 1)),
		"6 signal levels and 0 paths":     exact.Error(denoise.NewRealLikelihood(d, levels, 0, 1)),
		"alpha[1] = 0.5, want in (0, 0.5": exact.Error(denoise.NewRealLikelihood(d, []float64{0.5, 0.5}, 1, 1)),
		"alpha[0] = 1, want in (0, 1)":    exact.Error(denoise.NewRealLikelihood(d, []float64{1}, 1, 1)),
	} {
		require.ErrorContains(t, err, want)
	}
	broken := errors.New("broken")
	fails := energy.DenoiserFunc[float32]{Sites: 1, Levels: 1, F: func(context.Context, []float32, energy.Noised[float32]) error { return broken }}
	var out [1]float64
	l := exact.Must(denoise.NewRealLikelihood(fails, levels, 1, 1))
	require.ErrorIs(t, l.LogProb(t.Context(), out[:], nil, []float32{0}), broken)
	require.ErrorIs(t, l.PathKL(t.Context(), out[:], d, []float32{0}), broken)
	l = exact.Must(denoise.NewRealLikelihood(d, levels, 1, 1))
	require.ErrorIs(t, l.PathKL(t.Context(), out[:], fails, []float32{0}), broken)
	require.ErrorContains(t, l.PathKL(t.Context(), out[:], nil, []float32{0}), "other = nil")
	require.ErrorContains(t, l.PathKL(t.Context(), out[:], energy.DenoiserFunc[float32]{Sites: 2, Levels: 1}, []float32{0}), "2 sites and 1 levels, want 1 and 1")
	require.Panics(t, func() { _ = l.LogProb(t.Context(), out[:], nil, []float32{0, 0}) })
}

// The density of what a diffusion of 300 steps generates from an exact denoiser of N(1, ¼).
func ExampleRealLikelihood() {
	d, err := denoise.NewGaussian([]float64{1}, []float64{0.25}) // or a network: neural.NewReals
	if err != nil {
		panic(err)
	}
	var alpha []float64
	for t := range 300 {
		alpha = append(alpha, math.Pow(math.Cos(math.Pi/2*float64(t+1)/301), 2))
	}
	l, err := denoise.NewRealLikelihood(d, alpha, 200, 1)
	if err != nil {
		panic(err)
	}
	var logp, se [1]float64
	if err := l.LogProb(context.Background(), logp[:], se[:], []float32{1}); err != nil {
		panic(err)
	}
	fmt.Printf("within a twentieth of the density of the data: %t\n", math.Abs(logp[0]-math.Log(1/math.Sqrt(2*math.Pi*0.25))) < 0.05)
	// Output: within a twentieth of the density of the data: true
}

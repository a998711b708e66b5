package energy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// mix is a mixture in two dimensions with its parameters.
func mix(t testing.TB) *energy.GaussianMixture {
	m, err := energy.NewGaussianMixture([]float64{1, 3}, []float64{-1, 0.5, 2, 1}, []float64{0.5, 0.25, 1, 2})
	require.NoError(t, err)
	return m
}

// density is the mixture's, from its definition.
func density(x, y float64) float64 {
	normal := func(x, m, v float64) float64 { return math.Exp(-(x-m)*(x-m)/(2*v)) / math.Sqrt(2*math.Pi*v) }
	return 0.25*normal(x, -1, 0.5)*normal(y, 0.5, 0.25) + 0.75*normal(x, 2, 1)*normal(y, 1, 2)
}

// integrate sums f over a grid that is wide and fine enough for sums of smooth
// functions to be exact to 1e-10: the trapezoid rule on Gaussians.
func integrate(f func(x, y float64) float64) float64 {
	const h = 0.05
	sum := 0.0
	for x := -9.0; x < 12; x += h {
		for y := -12.0; y < 14; y += h {
			sum += f(x, y)
		}
	}
	return sum * h * h
}

func TestGaussianMixture(t *testing.T) {
	m := mix(t)
	require.Equal(t, 2, m.Sites())
	require.Equal(t, 2, m.Components())
	x := []float32{0.5, -0.25, 3, 2, -1, 1}
	e := make([]float64, 3)
	m.Energy(e, x)
	for s := range e {
		require.InDelta(t, -math.Log(density(float64(x[2*s]), float64(x[2*s+1]))), e[s], 1e-12)
	}
	exact.Score(t, m, x)
	mean := make([]float64, 2)
	m.Mean(mean)
	require.InDeltaSlice(t, []float64{1.25, 0.875}, mean, 1e-14)
}

func TestGaussianMixtureTilt(t *testing.T) {
	m := mix(t)
	tilt := []float64{0.3, -0.7}
	tilted, logZ := m.Tilt(tilt)
	w := func(x, y float64) float64 { return density(x, y) * math.Exp(0.3*x-0.7*y) }
	z := integrate(w)
	require.InDelta(t, math.Log(z), logZ, 1e-9)
	mean := make([]float64, 2)
	tilted.Mean(mean)
	require.InDelta(t, integrate(func(x, y float64) float64 { return x * w(x, y) })/z, mean[0], 1e-9)
	require.InDelta(t, integrate(func(x, y float64) float64 { return y * w(x, y) })/z, mean[1], 1e-9)
	e := make([]float64, 1)
	tilted.Energy(e, []float32{1, 2})
	require.InDelta(t, -math.Log(w(1, 2)/z), e[0], 1e-9)
}

// The posterior mean is Bayes' rule, by integration.
func TestGaussianMixturePosterior(t *testing.T) {
	m := mix(t)
	x := []float32{0.5, -0.25, 1, 0.5, 1, 0.5}
	alpha := []float64{0.9, 0.2, 0.2}
	for _, tilt := range [][]float64{nil, {0.3, -0.7}} {
		v := make([]float32, len(x))
		m.Posterior(v, x, alpha, tilt)
		for s, a := range alpha {
			w := func(x0, y0 float64) float64 {
				dx, dy := float64(x[2*s])-math.Sqrt(a)*x0, float64(x[2*s+1])-math.Sqrt(a)*y0
				l := -(dx*dx + dy*dy) / (2 * (1 - a))
				if tilt != nil {
					l += tilt[0]*x0 + tilt[1]*y0
				}
				return density(x0, y0) * math.Exp(l)
			}
			z := integrate(w)
			require.InDelta(t, integrate(func(x, y float64) float64 { return x * w(x, y) })/z, float64(v[2*s]), 1e-6, "float32")
			require.InDelta(t, integrate(func(x, y float64) float64 { return y * w(x, y) })/z, float64(v[2*s+1]), 1e-6, "float32")
		}
	}
	v := make([]float32, 2)
	// At ᾱ = 1 the state is the sample, at 0 it says nothing.
	m.Posterior(v, x[:2], []float64{1}, nil)
	require.Equal(t, x[:2], v)
	m.Posterior(v, x[:2], []float64{0}, nil)
	require.Equal(t, []float32{1.25, 0.875}, v)
}

func TestGaussianMixtureDraw(t *testing.T) {
	m := mix(t)
	src := rand.NewPCG(1, 2)
	const n = 40000
	var sum, squares float64
	x := make([]float32, 2)
	for range n {
		m.Draw(x, src)
		sum += float64(x[0])
		squares += float64(x[0]) * float64(x[0])
	}
	// E[x] = 1.25, Var = E[v] + Var(m) = 0.875 + 1.6875; E[x⁴] is below 120.
	require.InDelta(t, 1.25, sum/n, 4.9*math.Sqrt(2.5625/n))
	require.InDelta(t, 2.5625+1.25*1.25, squares/n, 4.9*math.Sqrt(120.0/n))
}

func TestGaussianMixtureRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ w, m, v []float64 }{
		{nil, nil, nil}, {[]float64{1, 1}, []float64{1, 2, 3}, []float64{1, 1}}, {[]float64{1}, []float64{1, 2}, []float64{1, 1, 1}},
		{[]float64{0}, []float64{1}, []float64{1}}, {[]float64{1}, []float64{nan}, []float64{1}}, {[]float64{1}, []float64{1}, []float64{-1}},
		{[]float64{inf}, []float64{1}, []float64{1}},
	} {
		_, err := energy.NewGaussianMixture(c.w, c.m, c.v)
		require.Error(t, err)
	}
}

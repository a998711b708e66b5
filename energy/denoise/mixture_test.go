package denoise_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func reals(x []float32, alpha float64, clean []bool) energy.Noised[float32] {
	return energy.Noised[float32]{X: x, Time: []float64{1 - alpha}, Alpha: []float64{alpha}, Sample: []int{0}, Src: make([]rand.Source, 1), Clean: clean}
}

// quadrature returns E[x_0 | x_t] of a mixture in two dimensions by summing
// over a grid, with the entry marked clean held at its value.
func quadrature(w []float64, means, covs [][]float64, x []float32, alpha float64, clean []bool) [2]float64 {
	density := func(a, b float64) float64 {
		p := 0.0
		for k := range w {
			c, m := covs[k], means[k]
			det := c[0]*c[3] - c[1]*c[2]
			u, v := a-m[0], b-m[1]
			p += w[k] / math.Sqrt(det) * math.Exp(-(c[3]*u*u-2*c[1]*u*v+c[0]*v*v)/(2*det))
		}
		for i, z := range []float64{a, b} {
			if clean == nil || !clean[i] {
				d := float64(x[i]) - math.Sqrt(alpha)*z
				p *= math.Exp(-d * d / (2 * (1 - alpha)))
			}
		}
		return p
	}
	const h, n = 0.02, 500
	var sum, a, b float64
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			u, v := float64(i)*h, float64(j)*h
			if clean != nil && clean[0] {
				u = float64(x[0])
			}
			if clean != nil && clean[1] {
				v = float64(x[1])
			}
			p := density(u, v)
			sum += p
			a += p * u
			b += p * v
		}
	}
	return [2]float64{a / sum, b / sum}
}

func TestMixtureIsThePosteriorMean(t *testing.T) {
	w := []float64{1, 3}
	means, covs := [][]float64{{1, -1}, {-2, 0.5}}, [][]float64{{1, 0.6, 0.6, 0.8}, {0.5, -0.3, -0.3, 1.2}}
	prior, err := continuous.NewMixture(w, means, covs)
	require.NoError(t, err)
	m, err := denoise.NewMixture(prior)
	require.NoError(t, err)
	one, err := denoise.NewGaussian(means[0], covs[0])
	require.NoError(t, err)
	x := []float32{0.7, -0.4}
	for _, alpha := range []float64{0.05, 0.5, 0.9} {
		for _, clean := range [][]bool{nil, {true, false}, {false, true}, {true, true}} {
			v := make([]float32, 2)
			for _, d := range []struct {
				*denoise.Mixture
				n int
			}{{m, 2}, {one, 1}} {
				require.NoError(t, d.Denoise(context.Background(), v, reals(x, alpha, clean)))
				want := quadrature(w[:d.n], means[:d.n], covs[:d.n], x, alpha, clean)
				// The trapezoidal sum of a Gaussian is exact beyond the tail cut
				// at ±10; what is left is float32.
				assert.InDelta(t, want[0], v[0], 1e-5, "ᾱ = %v, clean %v", alpha, clean)
				assert.InDelta(t, want[1], v[1], 1e-5, "ᾱ = %v, clean %v", alpha, clean)
			}
		}
	}
	sites, levels := m.Shape()
	assert.Equal(t, []int{2, 1}, []int{sites, levels})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, m.Denoise(ctx, make([]float32, 2), reals(x, 0.5, nil)), context.Canceled)
	singular, err := denoise.NewGaussian([]float64{0, 0, 0}, []float64{1, 1, 0, 1, 1, 0, 0, 0, 1})
	require.NoError(t, err, "a covariance may be singular")
	err = singular.Denoise(context.Background(), make([]float32, 3), reals(make([]float32, 3), 0.5, []bool{true, true, false}))
	assert.ErrorContains(t, err, "component 0: the covariance of the 2 known entries is singular")
}

// Diagonal covariances give what full ones with zeros give, also in batches of
// states with other clean entries.
func TestMixtureIsOneForBothKindsOfCovariances(t *testing.T) {
	w := []float64{1, 3, 2}
	diagonal, err := continuous.NewDiagonal(w, []float64{1, -1, -2, 0.5, 0, 0}, []float64{1, 0.8, 0.5, 1.2, 2, 0.1})
	require.NoError(t, err)
	full, err := continuous.NewMixture(w, [][]float64{{1, -1}, {-2, 0.5}, {0, 0}}, [][]float64{{1, 0, 0, 0.8}, {0.5, 0, 0, 1.2}, {2, 0, 0, 0.1}})
	require.NoError(t, err)
	a, err := denoise.NewMixture(diagonal)
	require.NoError(t, err)
	b, err := denoise.NewMixture(full)
	require.NoError(t, err)
	q := energy.Noised[float32]{X: []float32{0.7, -0.4, 0.2, 3, 0.2, 3, -1, 1, 2, 2}, Time: make([]float64, 5), Alpha: []float64{0.9, 0.5, 0.5, 0.5, 0.05},
		Sample: make([]int, 5), Src: make([]rand.Source, 5), Clean: []bool{false, false, true, false, true, false, false, true, true, true}}
	v, u := make([]float32, 10), make([]float32, 10)
	for range 2 {
		require.NoError(t, a.Denoise(context.Background(), v, q))
		require.NoError(t, b.Denoise(context.Background(), u, q))
		for i := range v {
			require.InDelta(t, u[i], v[i], 1e-6, "float32")
		}
		q.Clean = nil
	}
	_, err = denoise.NewMixture(nil)
	require.EqualError(t, err, "denoise: NewMixture: m is nil")
}

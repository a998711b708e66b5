package twisted

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rotated returns V·diag(e)·Vᵀ and V, a random rotation.
func rotated(rng *rand.Rand, e []float64) (a, v []float64) {
	n := len(e)
	a, v = make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = rng.NormFloat64()
			a[j*n+i] = a[i*n+j]
		}
	}
	jacobi(a, v, n)
	for i := range n {
		for j := range n {
			a[i*n+j] = 0
			for k := range n {
				a[i*n+j] += v[i*n+k] * e[k] * v[j*n+k]
			}
		}
	}
	return a, v
}

// A covariance with negative eigenvalues gets small ones in their place, along the
// same vectors; one without is left alone, singular ones included.
func TestDefinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ given, want []float64 }{
		{[]float64{-16, -3, 5, 8, 266}, []float64{0.266, 0.266, 5, 8, 266}},
		{[]float64{-1, -2, -3}, []float64{1e-3, 1e-3, 1e-3}},
		{[]float64{-1}, []float64{1e-3}},
		{[]float64{1e-5, 0, 2, 1}, []float64{1e-5, 0, 2, 1}},
		{[]float64{0, 0, 0, 3}, []float64{0, 0, 0, 3}},
		{[]float64{1, 2, 3}, []float64{1, 2, 3}},
	} {
		n := len(c.given)
		a, v := rotated(rng, c.given)
		given := append([]float64(nil), a...)
		definite(a, make([]float64, n*n), make([]float64, n*n), n)
		for i := range n {
			for j := range i + 1 {
				want := 0.0
				for k := range n {
					want += v[i*n+k] * c.want[k] * v[j*n+k]
				}
				assert.InDelta(t, want, a[i*n+j], 1e-9*math.Abs(c.want[n-1]), "%v", c.given)
			}
		}
		if c.given[0] >= 0 {
			assert.Equal(t, given, a)
		}
		require.Zero(t, testing.AllocsPerRun(3, func() { definite(a, v, given, n) }))
	}
}

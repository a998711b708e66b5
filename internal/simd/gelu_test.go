package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// GELU and its slope against float64, where they are in the middle, far out and beyond.
func TestGELU(t *testing.T) {
	f := func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }
	var x []float32
	for v := float32(-12); v < 12; v += 0.037 {
		x = append(x, v)
	}
	x = append(x, 0, 1e4, -1e4, 1e12, -1e12)
	y, d := make([]float32, len(x)), make([]float32, len(x))
	for i := range d {
		d[i] = 2
	}
	GELU(y, x)
	GELUSlope(d, x)
	for i, v := range x {
		want := f(float64(v))
		require.InDelta(t, want, y[i], 2e-6*math.Max(1, math.Abs(want)), "x = %v", v)
		if math.Abs(float64(v)) < 100 {
			const h = 1e-5
			require.InDelta(t, (f(float64(v)+h)-f(float64(v)-h))/h, d[i], 1e-5, "x = %v", v)
		}
	}
	assert.PanicsWithValue(t, "simd: len(dst) = 2, want 3", func() { GELU(y[:2], x[:3]) })
	assert.PanicsWithValue(t, "simd: len(d) = 2, want 3", func() { GELUSlope(y[:2], x[:3]) })
}

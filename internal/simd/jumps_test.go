package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestJumpThresholds compares the thresholds with the formula, and every backend with
// the definition, for differences and times of any size.
func TestJumpThresholds(t *testing.T) {
	r := newRand(77)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	h := []float32{0, float32(math.Copysign(0, -1)), 1e-40, 86, 88, -88, 200, -200, 3e38, -3e38, inf, -inf, nan}
	extremes := len(h)
	for len(h) < 300 {
		h = append(h, float32(r.NormFloat64()*4))
	}
	x := make([]int32, len(h))
	for i := extremes; i < len(x); i++ {
		x[i] = int32(r.IntN(2))
	}
	rates := []func(ratio float64) float64{
		math.Sqrt,
		func(ratio float64) float64 { return 1 / (1 + 1/ratio) }, // also at +Inf
		func(ratio float64) float64 { return min(1, ratio) },
		func(ratio float64) float64 { return max(1, ratio) },
	}
	for rate, g := range rates {
		for _, tau := range []float32{1e-9, 1e-4, 0.03, 0.2, 1, 50, 1e6} {
			want := make([]int32, len(h))
			refJumpThresholds(want, h, x, tau, JumpRate(rate))
			for i, v := range h {
				delta := float64(v) * float64(1-2*x[i])
				switch {
				case delta != delta:
					assert.EqualValues(t, -1, want[i])
				case math.IsInf(delta, 1):
					assert.Zero(t, want[i])
				case delta > 80: // close to the smallest float32: no less than the floor
					assert.Positive(t, want[i])
				default:
					nu := 1 / (1 + math.Exp(delta))
					q := -nu * math.Expm1(-float64(tau)*g(math.Exp(-delta))/nu) * (1 << 31)
					q = min(max(q, 1), 1<<31-128)
					require.InDelta(t, q, float64(want[i]), 1+2e-6*q, "rate %d, Δ = %v, τ = %v", rate, delta, tau)
				}
			}
			onAll(func(l level) {
				for _, n := range []int{0, 1, 7, 8, 15, 16, 31, 300} {
					got := make([]int32, n)
					JumpThresholds(got, h[:n], x[:n], tau, JumpRate(rate))
					require.Equal(t, want[:n], got, "%s: rate %d, τ = %v", levelNames[l], rate, tau)
				}
			})
		}
	}
	assert.PanicsWithValue(t, "simd: rate = 4, want 0 … 3", func() { JumpThresholds(nil, nil, nil, 1, 4) })
	assert.Panics(t, func() { JumpThresholds(make([]int32, 1), h[:2], x[:2], 1, SqrtRate) })
	assert.Panics(t, func() { JumpThresholds(make([]int32, 2), h[:2], x[:1], 1, SqrtRate) })
}

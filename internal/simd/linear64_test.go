package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinear64(t *testing.T) {
	r := newRand(8)
	for n := range 70 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = r.NormFloat64(), r.NormFloat64()
		}
		want := 0.0
		for i, v := range x {
			want += v * y[i]
		}
		require.InDelta(t, want, Dot64(x, y), 1e-13)
		narrow, other := make([]float32, n), make([]float32, n)
		want, gap := 0.0, 0.0
		for i := range narrow {
			narrow[i], other[i] = float32(x[i]), float32(y[i])
			want += y[i] * float64(narrow[i])
			d := float64(narrow[i]) - 0.3*float64(other[i])
			gap += d * d
		}
		require.InDelta(t, want, Inner(y, narrow), 1e-13)
		require.InDelta(t, gap, Gap(narrow, other, 0.3), 1e-12)
		z := append([]float64(nil), y...)
		AddWide(z, 3, narrow)
		for i, v := range narrow {
			require.InDelta(t, y[i]+3*float64(v), z[i], 1e-14)
		}
		z = append([]float64(nil), y...)
		Axpy64(3, x, z)
		for i, v := range x {
			require.InDelta(t, y[i]+3*v, z[i], 1e-14)
		}
	}
	x := make([]float64, 3)
	assert.PanicsWithValue(t, "simd: len(y) = 2, want 3", func() { Dot64(x, x[:2]) })
	assert.PanicsWithValue(t, "simd: len(dst) = 2, want 3", func() { AddWide(x[:2], 1, make([]float32, 3)) })
	assert.PanicsWithValue(t, "simd: len(y) = 2, want 3", func() { Gap(make([]float32, 3), make([]float32, 2), 1) })
	assert.PanicsWithValue(t, "simd: len(y) = 2, want 3", func() { Axpy64(1, x, x[:2]) })
}

// The bits are those of one sum after the other, wherever numbers are infinite, in every backend.
func TestAddFinite(t *testing.T) {
	check := func() {
		for n := range 40 {
			for at := range n {
				for _, odd := range []float32{1, float32(math.Inf(1)), float32(math.NaN())} {
					a, b, want := make([]float32, n), make([]float32, n), make([]float32, n)
					for i := range a {
						a[i], b[i] = 0.1*float32(i), 1/float32(3+i)
					}
					a[at], b[n-1-at] = odd, float32(math.Inf(-1))
					for i, v := range a {
						if want[i] = v; v-v == 0 {
							want[i] = float32(float64(v) + float64(0.7*float64(b[i])))
						}
					}
					AddFinite(a, 0.7, b)
					for i := range a {
						require.Equal(t, math.Float32bits(want[i]), math.Float32bits(a[i]), "%d of %d", i, n)
					}
				}
			}
		}
	}
	for _, l := range append(backends(), purego) {
		withBackend(l, check)
	}
	assert.PanicsWithValue(t, "simd: len(dst) = 2, want 3", func() { AddFinite(make([]float32, 2), 1, make([]float32, 3)) })
}

func BenchmarkDot64(b *testing.B) {
	x := make([]float64, 144)
	onEach(b, "", func(b *testing.B) {
		for b.Loop() {
			Dot64(x, x)
		}
		perElement(b, len(x), 16)
	})
}

package simd

import (
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

func BenchmarkDot64(b *testing.B) {
	x := make([]float64, 144)
	onEach(b, "", func(b *testing.B) {
		for b.Loop() {
			Dot64(x, x)
		}
		perElement(b, len(x), 16)
	})
}

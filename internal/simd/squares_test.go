package simd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for rows := 1; rows <= 3; rows++ {
		kernels[fmt.Sprintf("Squares/%d", rows)] = func(a *arena, from, to int) {
			if n := (to - from) / rows &^ 15; n > 0 {
				Squares(a.d[0][from:from+rows], a.d[1][from:from+n], a.d[2][from:from+rows*n], a.d[1][from:from+rows*n])
			}
		}
	}
	kernels["Attract"] = func(a *arena, from, to int) {
		if n := (to - from) &^ 15; n > 0 {
			Attract(a.d[0][from:from+n], a.d[1][from:from+n], a.d[2][from:from+n], a.d[1][from:from+n], -0.7)
		}
	}
}

func TestSquares(t *testing.T) {
	r := newRand(5)
	for _, n := range []int{16, 32, 48, 160} {
		for _, rows := range []int{1, 2, 7} {
			x, m, w := make([]float64, n), make([]float64, rows*n), make([]float64, rows*n)
			for i := range m {
				m[i], w[i] = r.NormFloat64(), r.Float64()
			}
			for i := range x {
				x[i] = 3 * r.NormFloat64()
			}
			dst, grad := make([]float64, rows), make([]float64, n)
			Squares(dst, x, m, w)
			for k := range dst {
				want := 0.0
				for i, v := range x {
					d := v - m[k*n+i]
					want += w[k*n+i] * d * d
				}
				require.InEpsilon(t, want, dst[k], 1e-13)
				for i := range grad {
					grad[i] = 1
				}
				Attract(grad, x, m[k*n:(k+1)*n], w[k*n:(k+1)*n], -2)
				for i, v := range x {
					require.InDelta(t, 1+2*w[k*n+i]*(v-m[k*n+i]), grad[i], 1e-13)
				}
			}
		}
	}
	d := make([]float64, 48)
	assert.PanicsWithValue(t, "simd: len(x) = 24, want a positive multiple of 16", func() { Squares(d[:2], d[:24], d, d) })
	assert.PanicsWithValue(t, "simd: len(m) = 16, want 32", func() { Squares(d[:2], d[:16], d[:16], d) })
	assert.PanicsWithValue(t, "simd: len(w) = 48, want 32", func() { Squares(d[:2], d[:16], d[:32], d) })
	assert.PanicsWithValue(t, "simd: len(x) = 0, want a positive multiple of 16", func() { Attract(nil, nil, nil, nil, 1) })
	assert.PanicsWithValue(t, "simd: len(dst) = 48, want 16", func() { Attract(d, d[:16], d[:16], d[:16], 1) })
}

func TestInner(t *testing.T) {
	w, x := []float64{1, 2, 3, 4, 5, 6}, []float32{1, -1, 2, 0.5, 3, -2}
	for n, want := range []float64{0, 1, -1, 5, 7, 22, 10} {
		assert.Equal(t, want, Inner(w[:n], x[:n]))
	}
	assert.PanicsWithValue(t, "simd: len(w) = 2, want 3", func() { Inner(w[:2], x[:3]) })
}

func BenchmarkSquares(b *testing.B) {
	const n, rows = 32, 8
	x, m, dst := make([]float64, n), make([]float64, n*rows), make([]float64, rows)
	onEach(b, "", func(b *testing.B) {
		for b.Loop() {
			Squares(dst, x, m, m)
		}
		perElement(b, rows*n, 16)
	})
}

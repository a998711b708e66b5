package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foldIn takes terms of n columns from a window.
func foldIn(a *arena, from, to, n, rows int) (dst []float64, at []int32, coef []float64) {
	at = a.i[3][from : from+min((to-from)/rows, 9)]
	last := to - from - n
	for k, r := range at {
		at[k] = (r ^ r>>31) % int32(last+1)
	}
	return a.d[0][from : from+n*rows], at, a.d[2][from : from+rows*len(at)]
}

func init() {
	for rows := 1; rows <= 6; rows++ {
		kernels[fmt.Sprintf("Fold/%d", rows)] = func(a *arena, from, to int) {
			if n := (to - from) / rows; n > 0 {
				dst, at, coef := foldIn(a, from, to, n, rows)
				Fold(dst, n, a.d[1][from:to], at, coef)
			}
		}
	}
	for rows := 1; rows <= 3; rows++ {
		kernels[fmt.Sprintf("Dots/%d", rows)] = func(a *arena, from, to int) {
			if n := (to - from) / rows &^ 15; n > 0 {
				x, at, dst := foldIn(a, from, to, n, rows)
				Dots(dst, n, a.d[1][from:to], at, x)
			}
		}
	}
	kernels["FoldMax"] = func(a *arena, from, to int) {
		dst, at, coef := foldIn(a, from, to, to-from, 1)
		FoldMax(dst, a.d[1][from:to], at, coef)
	}
	kernels["Raise"] = func(a *arena, from, to int) {
		if Raise(a.d[0][from:to], 0.7, 0.3) {
			a.s[0] = 1
		}
	}
}

// TestFold compares with sums of products in another order of loops.
func TestFold(t *testing.T) {
	r := newRand(3)
	for _, n := range []int{1, 15, 16, 17, 80, 200} {
		for _, rows := range []int{1, 2, 3, 4, 5, 9} {
			terms := 1 + r.IntN(40)
			m, at := make([]float64, 3*n), make([]int32, terms)
			for i := range m {
				m[i] = r.NormFloat64()
			}
			for i := range at {
				at[i] = r.Int32N(int32(2*n) + 1)
			}
			coef, dst := make([]float64, rows*terms), make([]float64, rows*n)
			for i := range coef {
				coef[i] = r.NormFloat64()
			}
			Fold(dst, n, m, at, coef)
			if n%16 == 0 { // the transpose: coef·Dots(x) = x·Fold(coef)
				back, x := make([]float64, rows*terms), make([]float64, rows*n)
				for i := range x {
					x[i] = r.NormFloat64()
				}
				Dots(back, n, m, at, x)
				for row := range rows {
					a, b := 0.0, 0.0
					for i := range terms {
						a += coef[row*terms+i] * back[row*terms+i]
					}
					for j := range n {
						b += x[row*n+j] * dst[row*n+j]
					}
					require.InDelta(t, a, b, 1e-11*float64(n*terms))
				}
			}
			most := make([]float64, n)
			for j := range most {
				most[j] = math.Inf(-1)
			}
			FoldMax(most, m, at, coef[:terms])
			for j := range n {
				greatest := math.Inf(-1)
				for row := range rows {
					want := 0.0
					for i, a := range at {
						want += coef[row*terms+i] * m[int(a)+j]
						if row == 0 {
							greatest = math.Max(greatest, coef[i]+m[int(a)+j])
						}
					}
					require.InDelta(t, want, dst[row*n+j], 1e-12*float64(terms))
				}
				require.Equal(t, greatest, most[j])
			}
		}
	}
	d := make([]float64, 48)
	assert.PanicsWithValue(t, "simd: len(x) = 48, n = 24, want n ≥ 1, a multiple of 16, and len(x) one of n", func() { Dots(d, 24, d, nil, d) })
	assert.PanicsWithValue(t, "simd: len(dst) = 1, want 6", func() { Dots(d[:1], 16, d, []int32{0, 32}, d) })
	assert.PanicsWithValue(t, "simd: offsets[1] = 33, want 0 to 32", func() { Dots(d[:6], 16, d, []int32{0, 33}, d) })
	d = d[:4]
	Fold(d, 2, nil, nil, nil)
	assert.PanicsWithValue(t, "simd: len(dst) = 4, n = 3, want n ≥ 1 and a multiple of it", func() { Fold(d, 3, d, nil, nil) })
	assert.PanicsWithValue(t, "simd: offsets[0] = 3, want 0 to 2", func() { Fold(d, 2, d, []int32{3}, d[:2]) })
	assert.PanicsWithValue(t, "simd: len(coef) = 1, want 2", func() { Fold(d, 2, d, []int32{1}, d[:1]) })
	assert.PanicsWithValue(t, "simd: offsets[0] = -1, want 0 to 0", func() { FoldMax(d, d, []int32{-1}, d[:1]) })
}

func TestRaise(t *testing.T) {
	for _, n := range []int{1, 16, 40} {
		v := make([]float64, n)
		assert.False(t, Raise(v, 2, 1))
		v[n-1] = 0.5
		assert.False(t, Raise(v, 2, 1))
		assert.Equal(t, 1.0, v[n-1])
		assert.True(t, Raise(v, 0.5, 0.75))
		assert.Equal(t, 0.75, v[n-1])
		for _, x := range v[:n-1] {
			assert.Zero(t, x)
		}
		v[0] = math.NaN()
		assert.False(t, Raise(v, 1, 0.5))
		assert.True(t, math.IsNaN(v[0]))
	}
}

// TestRaiseDefinition compares bits with the sentence in the comment of Raise.
func TestRaiseDefinition(t *testing.T) {
	special := []float64{0, math.SmallestNonzeroFloat64, 0x1p-1030, 0x1p-600, 0.5, 1, 3, math.MaxFloat64, math.Inf(1), math.NaN()}
	r := newRand(9)
	for _, by := range []float64{1, 0.5, 2, 0x1p-300} {
		for _, floor := range append([]float64{-1}, special...) {
			for n := range 40 {
				v, want, low := make([]float64, n), make([]float64, n), false
				for i := range v {
					if n%3 > 0 { // else nothing is below any floor
						v[i] = special[r.IntN(len(special))]
					}
					want[i] = v[i] * by
					if want[i] > 0 && want[i] < floor {
						want[i], low = floor, true
					}
				}
				require.Equal(t, low, Raise(v, by, floor))
				for i := range v {
					if want[i] == want[i] || v[i] == v[i] {
						require.Equal(t, math.Float64bits(want[i]), math.Float64bits(v[i]), "by %v floor %v", by, floor)
					}
				}
			}
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for _, rows := range []int{1, 2, 3, 4} {
		const n, terms = 80, 1500
		m, at := make([]float64, n*terms), make([]int32, terms)
		for i := range at {
			at[i] = int32(i * n)
		}
		coef, dst := make([]float64, rows*terms), make([]float64, rows*n)
		onEach(b, fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				Fold(dst, n, m, at, coef)
			}
			perElement(b, rows*n*terms, 8)
		})
	}
}

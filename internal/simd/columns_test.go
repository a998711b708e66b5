package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAddRows compares sums of few digits, exact in any order, with a plain loop
// over columns.
func TestAddRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, count := rapid.IntRange(1, 200).Draw(t, "columns"), rapid.IntRange(1, 20).Draw(t, "rows")
		w := make([]float32, cols*count)
		for i := range w {
			w[i] = float32(int32(i*i%1009) - 500)
		}
		rows := rapid.SliceOf(rapid.Int32Range(int32(-count), int32(count-1))).Draw(t, "changes")
		src, dst, f := make([]float64, cols), make([]float64, cols), make([]float32, cols)
		for j := range src {
			src[j] = float64(j) * 0x1p-32
		}
		AddRows(dst, f, src, w, rows)
		wide := make([]float64, len(w))
		for i, v := range w {
			wide[i] = float64(v)
		}
		dst64 := make([]float64, cols)
		AddRows64(dst64, src, wide, rows)
		require.Equal(t, dst, dst64)
		for j := range dst {
			want := float64(j) * 0x1p-32
			require.Equal(t, want, src[j])
			for _, r := range rows {
				if r >= 0 {
					want += float64(w[int(r)*cols+j])
				} else {
					want -= float64(w[int(^r)*cols+j])
				}
			}
			require.Equal(t, want, dst[j])
			require.Equal(t, float32(want), f[j])
		}
		// Back again, in place and in another order.
		for k := range rows {
			rows[k] = ^rows[k]
		}
		for l, r := 0, len(rows)-1; l < r; l, r = l+1, r-1 {
			rows[l], rows[r] = rows[r], rows[l]
		}
		AddRows(dst, f, dst, w, rows)
		require.Equal(t, src, dst)
	})
}

func TestAddRowsPanics(t *testing.T) {
	d, f := make([]float64, 2), make([]float32, 4)
	for want, call := range map[string]func(){
		"simd: len(f) = 4, want 2":                 func() { AddRows(d, f, d, f, nil) },
		"simd: len(src) = 1, want 2":               func() { AddRows(d, f[:2], d[:1], f, nil) },
		"simd: len(w) = 3, want a multiple of 2":   func() { AddRows(d, f[:2], d, f[:3], nil) },
		"simd: rows[1] = 2, want -2 to 1":          func() { AddRows(d, f[:2], d, f, []int32{1, 2}) },
		"simd: rows[0] = -3, want -2 to 1":         func() { AddRows(d, f[:2], d, f, []int32{^2}) },
		"simd: len(src) = 2, want 1":               func() { AddRows64(d[:1], d, d, nil) },
		"simd: rows[0] = 1, want -1 to 0":          func() { AddRows64(d, d, d, []int32{1}) },
		"simd: rows[0] = 0, want 0 to -1":          func() { AddRows(d, f[:2], d, nil, []int32{0}) },
		"simd: rows[0] = 2147483647, want -2 to 1": func() { AddRows(d, f[:2], d, f, []int32{1<<31 - 1}) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
	assert.NotPanics(t, func() { AddRows(nil, nil, nil, nil, []int32{3}) })
}

func BenchmarkAddRows(b *testing.B) {
	const cols, count, changed = 512, 784, 50
	w, f, sums := randomFloats(1, cols*count), make([]float32, cols), make([]float64, cols)
	rows, r := make([]int32, changed), newRand(3)
	for k := range rows {
		rows[k] = r.Int32N(2*count) - count
	}
	onEach(b, "50x512", func(b *testing.B) {
		for b.Loop() {
			AddRows(sums, f, sums, w, rows)
		}
		perElement(b, cols*changed, 4)
	})
}

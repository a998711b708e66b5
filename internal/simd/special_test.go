package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpecialRows compares every backend with the reference on rows of one kind of
// number, and on rows where that kind stands at one place among ordinary numbers:
// infinities, quiet and signalling NaNs, zeros of both signs, denormal numbers.
func TestSpecialRows(t *testing.T) {
	kinds := map[string]float32{
		"-Inf": -inf32, "+Inf": inf32, "NaN": nan32, "signalling NaN": math.Float32frombits(0x7f800001),
		"negative signalling NaN": math.Float32frombits(0xff812345), "-0": float32(math.Copysign(0, -1)), "0": 0,
		"denormal": 1e-45, "-denormal": -1e-40, "largest": math.MaxFloat32, "least": -math.MaxFloat32,
		"cut-off": expCut, "below the cut-off": math.Nextafter32(expCut, -inf32),
	}
	for name, v := range kinds {
		for _, cols := range []int{1, 2, 3, 4, 7, 15, 16, 17, 31, 64, 127, 128, 129, 150, 300} {
			for _, at := range []int{-1, 0, cols / 2, cols - 1} {
				w := make([]float32, 9*cols)
				for i := range w {
					w[i] = float32(i%11) - 7.25
					if at < 0 || i%cols == at {
						w[i] = v
					}
				}
				want := rowsOf(purego, w, cols)
				for _, b := range backends() {
					got := rowsOf(b, w, cols)
					for i := range want {
						require.True(t, want[i] == got[i], "%s: %s at %d of %d columns: result %d is %s, want %s",
							levelNames[b], name, at, cols, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestOverflowingRows: a finite entry so far below the maximum that the difference is infinite
// has the floor, unlike −Inf.
func TestOverflowingRows(t *testing.T) {
	for _, cols := range []int{2, 3, 17, 40, 130} {
		w := make([]float32, 3*cols)
		for i := range w {
			w[i] = []float32{math.MaxFloat32, -math.MaxFloat32, -inf32, 0}[(i+i/cols)%4]
		}
		want := rowsOf(purego, w, cols)
		for _, b := range backends() {
			require.Equal(t, want, rowsOf(b, w, cols), "%s: %d columns", levelNames[b], cols)
		}
		p, total := make([]float32, len(w)), make([]float64, 3)
		Weights(p, total, w, cols, 0.25)
		for i, v := range w[:cols] {
			require.Equal(t, map[float32]float32{math.MaxFloat32: 1, -math.MaxFloat32: 0.25, -inf32: 0, 0: 0.25}[v], p[i])
		}
	}
}

// TestExponentialAtTies: arguments whose product with log₂e is half of an odd integer in
// float32, where a backend that rounds otherwise has other bits.
func TestExponentialAtTies(t *testing.T) {
	var w []float32
	for n := range 120 {
		half := float32(-n) - 0.5
		for x, i := half*math.Ln2*1.00001, 0; i < 400; i++ {
			if float32(x*log2E) == half {
				w = append(w, x)
			}
			x = math.Nextafter32(x, 0)
		}
	}
	require.Greater(t, len(w), 100)
	w = append(w, 0) // the maximum
	for _, cols := range []int{len(w), 100} {
		rows := len(w) / cols
		want, got, total := make([]float32, rows*cols), make([]float32, rows*cols), make([]float64, rows)
		for r := range rows {
			w[(r+1)*cols-1] = 0
		}
		withBackend(purego, func() { Weights(want, total, w[:rows*cols], cols, 0) })
		for _, b := range backends() {
			withBackend(b, func() { Weights(got, total, w[:rows*cols], cols, 0) })
			require.True(t, Same(want, got), "%s, %d columns", levelNames[b], cols)
		}
	}
}

// rowsOf is what the kernels over rows, and flips, make of w, in hexadecimal numbers, all
// NaNs being one.
func rowsOf(b level, w []float32, cols int) (results []string) {
	put := func(v ...float64) {
		for _, x := range v {
			results = append(results, fmt.Sprintf("%x", math.Float64bits(x)))
			if x != x {
				results[len(results)-1] = "NaN"
			}
		}
	}
	wide := func(v []float32) {
		for _, x := range v {
			put(float64(x))
		}
	}
	rows := len(w) / cols
	p, total, idx, t := make([]float32, len(w)), make([]float64, rows), make([]int32, rows), make([]int32, len(w))
	x := make([]int32, len(w))
	u := make([]float64, rows)
	for i := range u {
		u[i] = float64(i) / float64(rows)
	}
	for i := range x {
		x[i] = int32(i / 3 % 2)
	}
	withBackend(b, func() {
		for _, floor := range []float32{0, 0.001} {
			Weights(p, total, w, cols, floor)
			wide(p)
			put(total...)
		}
		LogSumExp(total, w, cols)
		put(total...)
		Softmax(p, w, cols)
		wide(p)
		LogSoftmax(p, w, cols)
		wide(p)
		Categorical(idx, w, cols, u)
		for _, i := range idx {
			put(float64(i))
		}
		put(float64(Peak(w)))
		SigmoidTo(p, w)
		wide(p)
		for _, c := range [][]float32{{0.25}, {inf32}, {nan32}, w} {
			for _, h := range [][]float32{w, slices.Repeat([]float32{0.5}, len(w))} {
				FlipThresholds(t, h, x, 0.5, c)
				for _, v := range t {
					put(float64(v))
				}
			}
		}
	})
	return results
}

// TestCategoricalAtBounds: draws by uniform numbers at which cumulative sums of few
// different weights, zeros among them, are met exactly, and by the largest one.
func TestCategoricalAtBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	logs := []float32{0, 0, -inf32, math.Ln2, -math.Ln2, -80, -20}
	for cols := 1; cols <= 150; cols++ {
		const rows = 27
		w, u := make([]float32, rows*cols), make([]float64, rows)
		for i := range w {
			w[i] = logs[r.IntN(1+r.IntN(len(logs)))]
		}
		for i := range u {
			u[i] = []float64{0, 1 - 0x1p-53, float64(r.IntN(cols)) / float64(cols), float64(r.IntN(64)) / 64, r.Float64()}[r.IntN(5)]
		}
		want := make([]int32, rows)
		withBackend(purego, func() { Categorical(want, w, cols, u) })
		for _, b := range backends() {
			got := make([]int32, rows)
			withBackend(b, func() { Categorical(got, w, cols, u) })
			require.Equal(t, want, got, "%s: %d columns", levelNames[b], cols)
		}
	}
}

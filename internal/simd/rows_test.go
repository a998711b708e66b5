package simd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowKernels are the kernels over rows of cols entries; a window holds as many
// whole rows as fit, or one shorter row.
func rowKernels(cols int) map[string]func(a *arena, from, to int) {
	out := map[string]func(a *arena, from, to int){}
	for name, run := range map[string]func(a *arena, from, to, cols, rows int){
		"Weights": func(a *arena, from, to, cols, rows int) {
			Weights(a.f[0][from:to], a.d[0][from:from+rows], a.f[1][from:to], cols, 0)
		},
		"Weights/floor": func(a *arena, from, to, cols, rows int) {
			Weights(a.f[0][from:to], a.d[0][from:from+rows], a.f[2][from:to], cols, 1e-8)
		},
		"Categorical": func(a *arena, from, to, cols, rows int) {
			Categorical(a.i[3][from:from+rows], a.f[1][from:to], cols, a.d[1][from:from+rows])
		},
		"LogSumExp": func(a *arena, from, to, cols, rows int) {
			LogSumExp(a.d[0][from:from+rows], a.f[2][from:to], cols)
		},
		"Entropy":    func(a *arena, from, to, cols, rows int) { Entropy(a.d[0][from:from+rows], a.f[1][from:to], cols) },
		"Softmax":    func(a *arena, from, to, cols, rows int) { Softmax(a.f[0][from:to], a.f[1][from:to], cols) },
		"LogSoftmax": func(a *arena, from, to, cols, rows int) { LogSoftmax(a.f[0][from:to], a.f[1][from:to], cols) },
		"ArgMax":     func(a *arena, from, to, cols, rows int) { ArgMax(a.i[3][from:from+rows], a.f[0][from:to], cols) },
	} {
		out[fmt.Sprintf("%s/%d", name, cols)] = func(a *arena, from, to int) {
			c := max(min(cols, to-from), 1)
			rows := (to - from) / c
			run(a, from, from+rows*c, c, rows)
		}
	}
	return out
}

// TestSoftmaxPairs: rows of two, with one that is not finite here and there, in place and
// not, are those of the reference.
func TestSoftmaxPairs(t *testing.T) {
	r := newRand(83)
	odd := []float32{nan32, inf32, -inf32, 0, -200, 88}
	for _, rows := range []int{1, 15, 16, 127, 128, 129, 300, 1024} {
		for trial := range 12 {
			w := make([]float32, 2*rows)
			for i := range w {
				w[i] = float32(r.NormFloat64() * []float64{1, 60}[trial%2])
			}
			for range trial / 3 {
				i := r.IntN(len(w))
				w[i] = odd[r.IntN(len(odd))]
				if r.IntN(2) == 0 {
					w[i^1] = odd[r.IntN(len(odd))]
				}
			}
			want := make([]float32, len(w))
			refSoftmax(want, w, 2)
			onAll(func(l level) {
				got := append(slices.Clone(w), 7)
				if trial%2 == 0 {
					Softmax(got[:len(w)], w, 2)
				} else {
					Softmax(got[:len(w)], got[:len(w)], 2)
				}
				require.EqualValues(t, 7, got[len(w)])
				for i, v := range want {
					if v != v {
						require.True(t, got[i] != got[i], "%s: %d of %d rows", levelNames[l], i/2, rows)
						continue
					}
					require.Equal(t, math.Float32bits(v), math.Float32bits(got[i]), "%s: %d of %d rows", levelNames[l], i/2, rows)
				}
			})
		}
	}
}

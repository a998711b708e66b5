package neural

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// means stores the mean of the rows of y.
func means(dst []float64, y []float32) {
	clear(dst)
	for r := y; len(r) > 0; r = r[len(dst):] {
		for k, v := range r[:len(dst)] {
			dst[k] += float64(v)
		}
	}
	for k := range dst {
		dst[k] /= float64(len(y) / len(dst))
	}
}

// logSum is log Σ e^w.
func logSum(w []float64) float64 {
	top, sum := slices.Max(w), 0.0
	for _, v := range w {
		sum += simd.Exp(v - top)
	}
	return top + simd.Log(sum)
}

package tilt

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Normalize replaces log-weights by probabilities and returns the logarithm of
// their sum. One weight must be above −Inf.
func Normalize(w []float64) float64 {
	top := slices.Max(w)
	sum := 0.0
	for k, v := range w {
		w[k] = simd.Exp(v - top)
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}

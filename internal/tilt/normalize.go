package tilt

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// block is the number of terms that are added up before their sum is: the rounding
// error of a sum of a million terms is that of some thousands then.
const block = 1 << 10

// Normalize replaces log-weights by probabilities and returns the logarithm of
// their sum. One weight must be above −Inf.
func Normalize(w []float64) float64 {
	top := slices.Max(w)
	sum := 0.0
	for from := 0; from < len(w); from += block {
		part := 0.0
		for k, v := range w[from:min(from+block, len(w))] {
			v = simd.Exp(v - top)
			w[from+k] = v
			part += v
		}
		sum += part
	}
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}

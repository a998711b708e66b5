package unlearn

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// KL returns KL(p‖q) = Σ p log(p/q), +Inf where p has probability and q none. It
// panics unless lengths agree.
func KL(p, q []float64) float64 {
	check.Len("unlearn", "q", len(q), len(p))
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += float64(v * simd.Log(v/q[k]))
		}
	}
	return max(sum, 0) // a sum of roundings may be below 0
}

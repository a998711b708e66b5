package pdi

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Config holds the settings of a [Denoiser]. The zero value is the predictive rule from λ =
// 0, with one λ per batch. The paper uses Rule: dual.Ascent{Step: dual.Constant(0.05)}.
type Config struct {
	// Rule moves λ by the mean violation of the predictions alone. nil means the predictive
	// rule, which uses the predictor to estimate how the final violations respond to λ, at
	// about a tenth of the cost of the run, and takes trust-region steps based on that
	// estimate, four of them in the last step of the diffusion. It needs no step size,
	// whatever the units of g. Rules whose steps depend on the variance of samples, such as
	// [dual.Auto], are rejected: within a run that variance is not known.
	Rule  dual.Rule
	Start []float64 // nil means zeros
	Max   *float64  // upper bound on every multiplier, ≥ 0; nil means none

	// Fixed keeps λ at Start. This gives the unconstrained baseline if Start is nil, and
	// the fixed-λ̄ baseline if Start is the average of an earlier run.
	Fixed bool

	// Domain, if not nil, projects a prediction in place; see [Box] and
	// [Simplex].
	Domain func(x []float32)

	// Again makes a second prediction after λ has moved, at twice the cost. The dual step
	// then uses the state after the last reverse step, and the reverse step uses the new λ.
	// This is the order in the paper; its code predicts once.
	Again bool

	// Scarce suppresses the [ScarceError] of a run in which most predictions are based on
	// fewer than two effective candidates.
	Scarce bool

	most float64 // Max, +Inf if that is nil
}

// Box returns the Euclidean projection onto {lo ≤ x_i ≤ hi}, safe for
// concurrent use. It panics unless lo ≤ hi.
func Box(lo, hi float32) func(x []float32) {
	if !(lo <= hi) {
		panic(fmt.Sprintf("pdi: Box: lo = %v, hi = %v, want lo ≤ hi", lo, hi))
	}
	return func(x []float32) {
		for i, v := range x {
			x[i] = min(max(v, lo), hi)
		}
	}
}

// Simplex returns the Euclidean projection onto {x_i ≥ 0, Σ x_i = total}, safe for
// concurrent use: x_i ← max(0, x_i − τ) with τ found from the sorted coordinates in O(n log
// n) (Held, Wolfe and Crowder 1974). It panics unless total > 0.
func Simplex(total float64) func(x []float32) {
	if !(total > 0) || !check.Finite(total) {
		panic(fmt.Sprintf("pdi: Simplex: total = %v, want a finite number > 0", total))
	}
	return func(x []float32) {
		b := scratch.Float32s.Get(len(x))
		defer scratch.Float32s.Put(b)
		copy(*b, x)
		slices.Sort(*b)
		sum, tau := 0.0, 0.0
		for k := len(*b) - 1; k >= 0; k-- {
			v := float64((*b)[k])
			sum += v
			t := (sum - total) / float64(len(*b)-k)
			if v <= t {
				break
			}
			tau = t
		}
		for i, v := range x {
			x[i] = float32(max(0, float64(v)-tau))
		}
	}
}

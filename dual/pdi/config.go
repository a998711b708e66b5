package pdi

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Config holds the settings of a [Denoiser]. With the zero value, λ starts at 0 and moves by the
// predictive rule (see Rule), and each batch has its own λ. The paper uses the rule
//
//	dual.Ascent{Step: dual.Constant(0.05)}
type Config struct {
	// Rule moves the multipliers λ by the mean violation of the predictions. Rules that also need
	// the variance of the samples, such as [dual.Auto], are rejected.
	//
	// If Rule is nil, λ moves by the predictive rule. This rule uses the predictor to estimate how
	// the final violations respond to λ, at about a tenth of the cost of the run. It needs no step
	// size, whatever the units of g.
	Rule  dual.Rule
	Start []float64 // initial multipliers; nil means zeros
	Max   *float64  // upper bound on every multiplier, ≥ 0; nil means no bound

	// Fixed keeps the multipliers λ at Start, for comparisons. If Start is nil, the samples are
	// unconstrained. Start may also be the average of an earlier run.
	Fixed bool

	// Domain, if not nil, projects a prediction in place onto the set of possible samples; see
	// [Box] and [Simplex].
	Domain func(x []float32)

	// Again makes two predictions per step, at twice the cost. The violations of the first
	// prediction move λ. The diffusion uses the second prediction, made at the new λ, as in the
	// paper. If Again is false, the diffusion uses the prediction made before λ moves, as in the
	// paper's code.
	Again bool

	// Scarce suppresses the [ScarceError] of a run in which most predictions rest on fewer than two
	// effective candidates.
	Scarce bool

	most float64 // the value of Max, or +Inf if Max is nil
}

// Box returns a function that replaces x, in place, by the nearest point of the box lo ≤ x_i ≤ hi.
// The function is safe for concurrent use. Box panics unless lo ≤ hi.
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

// Simplex returns a function that replaces x, in place, by the nearest point (in Euclidean
// distance) of the simplex x_i ≥ 0, Σ x_i = total. The function is safe for concurrent use and
// takes O(n log n) time for n coordinates (Held, Wolfe and Crowder 1974). Simplex panics unless
// total is positive and finite.
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

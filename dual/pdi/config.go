package pdi

import (
	"github.com/gibbsite-go/gibbsite/dual"
)

// Config says how multipliers move. The zero value is the predictive rule from
// λ = 0, one λ per batch. The paper's is Rule: dual.Ascent{Step:
// dual.Constant(0.05)}.
type Config struct {
	// Rule moves λ by the mean violation of the predictions alone. Nil means the
	// predictive rule: it asks the predictor, at some tenth of the cost of the
	// run, how the violations at the end answer to λ, and takes a trust-region
	// step by that, four of them in the last step of the diffusion. It needs no step size, whatever the units of g. Rules for the
	// means of samples, such as [dual.Auto], are wrong here.
	Rule  dual.Rule
	Start []float64 // nil means zeros
	Max   *float64  // upper bound on every multiplier, ≥ 0; nil means none

	// Fixed keeps λ at Start: the unconstrained baseline if that is nil, the
	// fixed-λ̄ baseline if it is the average of an earlier run.
	Fixed bool

	// Group is the number of consecutive samples that share λ; 0 means all of
	// a batch. It must divide the batch, and so must it the number of samples.
	Group int

	// Domain, if not nil, projects a prediction in place; see [Box] and
	// [Simplex].
	Domain func(x []float32)

	// Again predicts a second time after λ has moved, at twice the cost: the
	// dual step then uses the state that the last step led to, and the
	// reverse step the new λ (the paper's order; its code predicts once).
	Again bool

	most float64 // Max, +Inf if that is nil
}

package main

import (
	"context"
	"errors"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
)

// relative is the dual update rule for budgets. It changes log λ_j by the relative distance of
// the mean from the budget, with steps that shrink to 0 at the end of the run:
//
//	λ_j ← λ_j·exp(η_t·e_j),  e_j = clip(k·ḡ_j/b, −1, 1),  η_t = 2·travel·(1 − t/T)/T,
//
// with k = fall below the budget and k = rise above it. The multipliers start above their final
// values, where weights are spread and the problem is convex. With too small multipliers the
// distribution has as many modes as assets.
type relative struct {
	budget float64 // budget b in the units of g
	steps  int     // number of steps T
}

// Parameters of the rule, chosen on the market of seed 2 and on three assets other than those of
// TestOptimum. travel is the maximum change of log λ in a run (3.5 and 5 were tried). fall and
// rise set the relative distance at which λ changes at full speed (1, 2, 4, 8 and 1, 3, 8 were
// tried). start is the initial λ times the number of assets (2 and 4 were tried).
const (
	travel = 3.5
	fall   = 4.0
	rise   = 8.0
	start  = 4.0
)

// Bind returns the rule's updater of the multipliers. It implements dual.Rule.
func (r relative) Bind(_ context.Context, _ int) (dual.Updater, error) { return updater{r}, nil }

// updater applies the rule. It needs no state, because the batch contains the step number.
type updater struct{ relative }

// Update updates lambda from the batch means. It implements dual.Updater.
func (u updater) Update(lambda []float64, b *dual.Batch) error {
	part := float64(u.steps)
	eta := 2 * travel / part * max(0, 1-float64(b.Step)/part)
	for j, g := range b.Mean {
		k := fall
		if g > 0 {
			k = rise
		}
		e := min(max(k*g/u.budget, -1), 1)
		lambda[j] = min(lambda[j]*math.Exp(eta*e), b.Max)
	}
	return nil
}

func (u updater) AppendBinary(b []byte) ([]byte, error) { return b, nil }

func (u updater) UnmarshalBinary(b []byte) error {
	if len(b) > 0 {
		return errors.New("bytes of a rule that has no state")
	}
	return nil
}

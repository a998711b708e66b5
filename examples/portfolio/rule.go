package main

import (
	"context"
	"errors"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
)

// relative is the dual rule for budgets. It moves log λ_j by how far the mean is
// from the budget, relative to that, with steps that shrink to 0 at the end of the
// run:
//
//	λ_j ← λ_j·exp(η_t·e_j),  e_j = clip(k·ḡ_j/b, −1, 1),  η_t = 2·travel·(1 − t/T)/T,
//
// k = fall below the budget and rise above it. Multipliers start above where they
// end up: from there weights are spread and the problem is convex. Where they are too
// small it has as many modes as assets.
type relative struct {
	budget float64 // b in the units of g
	steps  int     // T
}

// The most that log λ moves in a whole run, of 3.5 and 5, how soon it moves that fast,
// of 1, 2, 4 and 8 and of 1, 3 and 8, and the start times the number of assets, of 2
// and 4: chosen on the market of seed 2 and on three assets other than those of
// TestOptimum.
const (
	travel = 3.5
	fall   = 4.0
	rise   = 8.0
	start  = 4.0
)

// Bind implements dual.Rule.
func (r relative) Bind(_ context.Context, _ int) (dual.Updater, error) { return updater{r}, nil }

// updater has no state: the batch knows the step.
type updater struct{ relative }

// Update implements dual.Updater.
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

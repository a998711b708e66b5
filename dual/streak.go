package dual

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/tilt"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// streak counts dual steps in a row in which every sample had λᵀg > 0. At the
// optimum λᵀE[g] = 0, so a long streak means that λ is far from it, or that
// there is none.
type streak struct {
	steps  int
	margin float64 // smallest λᵀg/Σ|λ| of the streak
	proof  int     // length at which to look for a proof
}

// firstProof is the length of a streak that is worth a proof. A proof may cost
// an enumeration, so the next ones come at doubled lengths.
const firstProof = 64

func newStreak() streak { return streak{margin: math.Inf(1), proof: firstProof} }

// next takes in the violations g of the samples drawn at λ, and returns the
// certificate if the streak has become long. p, if not nil, is asked for a proof;
// without one the sum of the multipliers must have come up to diverge.
func (s *streak) next(ctx context.Context, lambda, g []float64, p Prover, diverge float64) error {
	sum := sumOf(lambda)
	n := len(lambda)
	low, largest := math.Inf(1), 0.0
	for at := 0; at < len(g); at += n {
		low = min(low, weighted.Dot(lambda, g[at:at+n]))
		for _, v := range g[at : at+n] {
			largest = max(largest, math.Abs(v))
		}
	}
	if !(sum > 0 && low > 0) {
		*s = newStreak()
		return nil
	}
	s.steps++
	s.margin = min(s.margin, low/sum)
	if s.steps < s.proof {
		return nil
	}
	e := &DivergedError{Lambda: slices.Clone(lambda), Direction: direction(lambda), Steps: s.steps, Margin: s.margin}
	if p != nil && s.steps == s.proof {
		s.proof *= 2
		margin, ok, err := p.Margin(ctx, e.Direction)
		if err != nil {
			return err
		}
		if ok && tilt.Positive(margin, largest) > 0 {
			e.Margin, e.Proven = margin, true
			return e
		}
		if ok {
			return nil // some state meets the combination
		}
	}
	if sum >= diverge {
		return e
	}
	return nil
}

package fit

import (
	"context"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Pseudo replaces log p(x) by the pseudo-likelihood Σ_i log p(x_i | the other sites)
// (Besag 1975): it is convex where the likelihood is, needs no chains, and its
// optimum tends to the same parameters as the data grow, with a larger variance.
//
// [Conditioned] models, such as the learners of Ising and of dense two-level
// Quadratic models, know its gradient; for others a row costs the gradients of
// sites·(levels−1) + 1 states.
type Pseudo struct{}

// Name names the recipe in checkpoints.
func (Pseudo) Name() string { return "pseudo" }

// Bind implements [Objective].
func (Pseudo) Bind(_ context.Context, p energy.Parametric, _ []int32, _ dual.Primal[int32]) (Phase, error) {
	if err := check.Given("fit: Pseudo", "p", p); err != nil {
		return nil, err
	}
	sites, levels := p.Shape()
	c, _ := energy.As[Conditioned](p)
	return &conditionals{p: p, closed: c, sites: sites, levels: levels}, nil
}

package proximal

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projector moves real-valued predictions to a set of linear rows and smooth
// inequalities: given the posterior mean ẑ of a clean series it finds
//
//	argmin_z ½‖z−ẑ‖² + (γ/2)·Σ_j max(0, f_j(z)),
//
// which for large γ, and always if Gamma is nil, is the nearest point with
// f(z) ≤ 0. It is the projection of constrained posterior sampling (Narasimhan,
// Agarwal, Akcin, Shakkottai and Chinchali 2025, equation 4), solved through
// its dual, to 1e-12 and with a certificate (see [Certificate]), instead of by
// a general solver.
//
// A Projector is a recipe, used as a literal; the zero value of
// everything but Set is the recommended setting. Bind makes it a
// [Projection] for a runner, Compile a [Solver] to use by hand.
type Projector struct {
	// Set is the feasible set, on the series as the denoiser sees it. The
	// linear rows of a [Splitter], such as a [constraint.Linear], a
	// [constraint.Slabs] or a *series.System, are met exactly. Its curved
	// inequalities, and all those of any other Smooth, are linearised again and
	// again (a prox-linear method, Drusvyatskiy and Paquette 2019): that ends in
	// a stationary point, not always the nearest.
	Set constraint.Smooth

	// Gamma is the schedule of the weight γ. Nil means the hard form.
	Gamma Gamma

	// Metric, unless nil, replaces ‖z−ẑ‖² by (z−ẑ)ᵀP⁻¹(z−ẑ) with P positive
	// definite: it stores P·v in dst, at diffusion time t. With P the
	// covariance of the clean series given the noisy one, the projection is
	// the conditional mean if that is Gaussian. It must be safe for concurrent
	// use, and P·v must not depend on anything else.
	Metric func(dst, v []float64, t float64)

	// Soften makes rows that exclude each other no error; see [Solver.Solve].
	Soften bool
}

// Bind compiles the recipe for real series of the given number of sites, levels
// being 1. The result is a *[Projection]. Errors are those of
// [Projector.Compile], and one for levels ≠ 1 or samples < 1.
func (p Projector) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if levels != 1 {
		return nil, fmt.Errorf("proximal: levels = %d, want 1: it is for real-valued series", levels)
	}
	if samples < 1 {
		return nil, fmt.Errorf("proximal: samples = %d, want ≥ 1", samples)
	}
	s, err := p.Compile(ctx, sites)
	if err != nil {
		return nil, err
	}
	return newProjection(s, p.Gamma, samples), nil
}

// Compile returns a solver for series of n ≥ 1 entries. The error says what is
// wrong with the set, or wraps that of ctx, or is the *[ContradictionError] of
// linear rows that exclude each other, unless the recipe says Soften.
func (p Projector) Compile(ctx context.Context, n int) (*Solver, error) {
	if n < 1 {
		return nil, fmt.Errorf("proximal: n = %d, want ≥ 1", n)
	}
	if p.Set == nil {
		return nil, fmt.Errorf("proximal: Set is nil")
	}
	linear, curved := split(p.Set)
	if err := validate(p.Set, linear, n); err != nil {
		return nil, fmt.Errorf("proximal: %w", err)
	}
	rows := newSlabs(n, linear)
	if rows.floor > leastSlack && !p.Soften {
		return nil, &ContradictionError{Rows: []int{rows.worst}, Multiplier: []float64{1}, Slack: rows.floor}
	}
	var name func(row int) string // nil: rows have numbers only
	if s, ok := p.Set.(Named); ok {
		name = s.RowName
	}
	if !p.Soften {
		// Contradictions show before anything runs.
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("proximal: %w", err)
		}
		alone := newSolver(rows, nil, nil, false, name)
		zero := make([]float64, n)
		if _, err := alone.Solve(zero, zero); err != nil {
			return nil, err
		}
	}
	return newSolver(rows, curved, p.Metric, p.Soften, name), nil
}

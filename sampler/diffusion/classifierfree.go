package diffusion

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// ClassifierFree is the denoiser that leans towards a condition by comparing a
// prediction with it to one without (Ho and Salimans 2022; for tokens Schiff et
// al. 2025). At the prediction, the default,
//
//	p(x_0,i | x_t) ∝ p(x_0,i | x_t, y)^γ · p(x_0,i | x_t)^{1−γ},
//
// which combines with every process and projection. At the posterior
//
//	p(x_s,i | x_t) ∝ p(x_s,i | x_t, y)^γ · p(x_s,i | x_t)^{1−γ},
//
// which is not the same: masks take part in it, so for γ > 1 sites of which the
// condition makes sure are revealed sooner. γ = 1 is the conditional denoiser and
// 0 the unconditional one in both forms. A level that has weight with the
// condition and none without is an error for γ > 1.
type ClassifierFree struct {
	Conditional, Unconditional energy.Denoiser[int32]

	// Scale is γ ≥ 0.
	Scale float64

	// AtPosterior guides the reverse step of a [Factorised] process. Projections
	// cannot be combined with it, and wrappers have to pass energy.As on: see
	// [Guide].
	AtPosterior bool
}

// Shape returns the shape of Conditional.
func (g ClassifierFree) Shape() (sites, levels int) {
	check.Must("diffusion: ClassifierFree", "Conditional", g.Conditional)
	return g.Conditional.Shape()
}

// TimeFree reports whether both denoisers are, unless guidance is at the
// posterior.
func (g ClassifierFree) TimeFree() bool {
	return !g.AtPosterior && energy.TimeFree(g.Conditional) && energy.TimeFree(g.Unconditional)
}

// LeaveOneOut reports whether the denoisers predict sites from the others.
func (g ClassifierFree) LeaveOneOut() bool { return energy.LeaveOneOut(g.Conditional) }

// As answers for the mask of Conditional, if that knows it.
func (g ClassifierFree) As(target any) bool {
	m, ok := energy.As[energy.Masking](g.Conditional)
	return ok && energy.Give(target, m)
}

// Guidance implements [Guide].
func (g ClassifierFree) Guidance() (scale float64, unconditional energy.Denoiser[int32], by Classifier) {
	if !g.AtPosterior {
		return 0, nil, nil
	}
	return g.Scale, g.Unconditional, nil
}

// Denoise implements [energy.Denoiser]: the combined prediction, or at the
// posterior the conditional one. The latter is an error unless q says that the
// caller leads the step.
func (g ClassifierFree) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if g.AtPosterior && !q.Guided {
		return fmt.Errorf("diffusion: ClassifierFree: %w", errUnseen)
	}
	if err := check.Given("diffusion: ClassifierFree", "Conditional", g.Conditional); err != nil {
		return err
	}
	if err := g.Conditional.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	if err := check.Given("diffusion: ClassifierFree", "Unconditional", g.Unconditional); err != nil {
		return err
	}
	b := scratch.Float32s.Get(len(v))
	defer scratch.Float32s.Put(b)
	if err := g.Unconditional.Denoise(ctx, *b, q); err != nil {
		return err
	}
	blend(v, *b, g.Scale)
	return nil
}

// Check implements [noise.Checked].
func (g ClassifierFree) Check() error {
	if check.Nil(g.Conditional) || check.Nil(g.Unconditional) {
		return fmt.Errorf("diffusion: ClassifierFree: Conditional and Unconditional must be set")
	}
	if err := checkScale("ClassifierFree", g.Scale); err != nil {
		return err
	}
	if err := checkInside("ClassifierFree", g.Conditional, g.Unconditional); err != nil {
		return err
	}
	if energy.LeaveOneOut(g.Conditional) != energy.LeaveOneOut(g.Unconditional) {
		return fmt.Errorf("diffusion: ClassifierFree: one denoiser leaves sites out of their own prediction, the other does not")
	}
	sites, levels := g.Conditional.Shape()
	if s, l := g.Unconditional.Shape(); s != sites || l != levels {
		return fmt.Errorf("diffusion: ClassifierFree: Unconditional has %d sites and %d levels, want %d and %d", s, l, sites, levels)
	}
	return nil
}

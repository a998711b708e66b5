package diffusion

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// ClassifierGuided is a denoiser led by a classifier (Dhariwal and Nichol 2021;
// for tokens Schiff et al. 2025). At the prediction, the default,
//
//	p(x_0,i = l | x_t) ∝ p(x_0,i = l | x_t)·p(y | x_t with x_i = l)^γ,
//
// which combines with every process and projection, and at the posterior
//
//	p(x_s,i = l | x_t) ∝ p(x_s,i = l | x_t)·p(y | x_t with x_i = l)^γ.
//
// Both treat sites as if they acted on y one at a time.
type ClassifierGuided struct {
	energy.Denoiser[int32]
	Classifier Classifier

	// Scale is γ ≥ 0.
	Scale float64

	// AtPosterior guides the reverse step of a [Factorised] process. Projections
	// cannot be combined with it, and wrappers have to pass energy.As on: see
	// [Guide].
	AtPosterior bool
}

// Shape returns the shape of the denoiser.
func (g ClassifierGuided) Shape() (sites, levels int) {
	check.Must("diffusion: ClassifierGuided", "Denoiser", g.Denoiser)
	return g.Denoiser.Shape()
}

// TimeFree returns false: a classifier may depend on time.
func (g ClassifierGuided) TimeFree() bool { return false }

// LeaveOneOut reports whether the denoiser predicts sites from the others.
func (g ClassifierGuided) LeaveOneOut() bool { return energy.LeaveOneOut(g.Denoiser) }

// As answers for the mask of Denoiser, if that knows it.
func (g ClassifierGuided) As(target any) bool {
	m, ok := energy.As[energy.Masking](g.Denoiser)
	return ok && energy.Give(target, m)
}

// Guidance implements [Guide].
func (g ClassifierGuided) Guidance() (scale float64, unconditional energy.Denoiser[int32], by Classifier) {
	if !g.AtPosterior {
		return 0, nil, nil
	}
	return g.Scale, nil, g.Classifier
}

// Denoise implements [energy.Denoiser]. At the posterior it is an error unless q
// says that the caller leads the step.
func (g ClassifierGuided) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if g.AtPosterior && !q.Guided {
		return fmt.Errorf("diffusion: ClassifierGuided: %w", errUnseen)
	}
	if err := check.Given("diffusion: ClassifierGuided", "Denoiser", g.Denoiser); err != nil {
		return err
	}
	if err := check.Given("diffusion: ClassifierGuided", "Classifier", g.Classifier); err != nil {
		return err
	}
	if err := g.Denoiser.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	sites, levels := g.Shape()
	b := scratch.Float32s.Get(sites * levels)
	defer scratch.Float32s.Put(b)
	for s, t := range q.Time {
		if err := g.Classifier.Table(*b, q.X[s*sites:(s+1)*sites], t); err != nil {
			return err
		}
		lean(v[s*len(*b):(s+1)*len(*b)], *b, g.Scale)
	}
	return nil
}

// Check implements [noise.Checked].
func (g ClassifierGuided) Check() error {
	if check.Nil(g.Denoiser) || check.Nil(g.Classifier) {
		return fmt.Errorf("diffusion: ClassifierGuided: Denoiser and Classifier must be set")
	}
	if err := checkInside("ClassifierGuided", g.Denoiser); err != nil {
		return err
	}
	return checkScale("ClassifierGuided", g.Scale)
}

package diffusion

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Factorised is a token process that can say what its reverse step does site by
// site: what guidance at the posterior needs.
type Factorised interface {
	// Posterior stores log p(x_s,i = l | x_t), normalised, for every site and
	// level, given the full posterior v of x_0 (see [Renoiser]). dst has the
	// length of v.
	Posterior(dst, v []float32, x []int32, t, s float64)
}

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
	// cannot be combined with it.
	AtPosterior bool
}

// Shape returns the shape of Conditional.
func (g ClassifierFree) Shape() (sites, levels int) { return g.Conditional.Shape() }

// TimeFree reports whether both denoisers are, unless guidance is at the
// posterior.
func (g ClassifierFree) TimeFree() bool {
	return !g.AtPosterior && energy.TimeFree(g.Conditional) && energy.TimeFree(g.Unconditional)
}

// LeaveOneOut reports whether the denoisers predict sites from the others.
func (g ClassifierFree) LeaveOneOut() bool { return energy.LeaveOneOut(g.Conditional) }

// Denoise implements [energy.Denoiser]: the combined prediction, or at the
// posterior the conditional one.
func (g ClassifierFree) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := g.Conditional.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	b := getTable(len(v))
	defer putTable(b)
	if err := g.Unconditional.Denoise(ctx, *b, q); err != nil {
		return err
	}
	blend(v, *b, g.Scale)
	return nil
}

func (g ClassifierFree) check() error {
	switch {
	case g.Conditional == nil || g.Unconditional == nil:
		return fmt.Errorf("diffusion: ClassifierFree: Conditional and Unconditional must be set")
	case !(g.Scale >= 0) || math.IsInf(g.Scale, 1):
		return fmt.Errorf("diffusion: ClassifierFree: Scale = %v, want ≥ 0 and finite", g.Scale)
	case energy.LeaveOneOut(g.Conditional) != energy.LeaveOneOut(g.Unconditional):
		return fmt.Errorf("diffusion: ClassifierFree: one denoiser leaves sites out of their own prediction, the other does not")
	}
	sites, levels := g.Conditional.Shape()
	if s, l := g.Unconditional.Shape(); s != sites || l != levels {
		return fmt.Errorf("diffusion: ClassifierFree: Unconditional has %d sites and %d levels, want %d and %d", s, l, sites, levels)
	}
	return nil
}

// blend stores γ·c + (1−γ)·u in c. What c rules out stays ruled out.
func blend(c, u []float32, gamma float64) {
	if gamma == 1 {
		return
	}
	for i, a := range c {
		switch {
		case gamma == 0:
			c[i] = u[i]
		case !math.IsInf(float64(a), -1):
			c[i] = float32(float64(gamma*float64(a)) + float64((1-gamma)*float64(u[i])))
		}
	}
}

// Classifier says how likely a condition y is when one site changes: package
// users supply it through [ExactClassifier], [FirstOrderClassifier] or a type
// of their own.
type Classifier interface {
	// Table stores log p(y | x with x_i = l, t) + c_i for every site i and
	// level l of one state x at time t; −Inf rules a level out. It must be safe
	// for concurrent use.
	Table(dst []float32, x []int32, t float64) error
}

// ExactClassifier is the classifier log p(y | x) = −E(x), evaluated for every
// level of every site. The model's levels include the mask, if there is one.
type ExactClassifier struct{ Model energy.Model }

// Table implements [Classifier].
func (c ExactClassifier) Table(dst []float32, x []int32, _ float64) error {
	sites, levels := c.Model.Shape()
	conditional := energy.Conditionals(c.Model)
	d := make([]float64, levels)
	for i := range sites {
		conditional.Conditional(d, i, x)
		for l, e := range d {
			dst[i*levels+l] = float32(-e)
		}
	}
	return nil
}

// FirstOrderClassifier is [ExactClassifier] with the table of an
// [energy.Differentiable] model: for those whose table is a gradient, the
// first-order Taylor expansion of log p(y | x) at x, for the price of one
// evaluation.
type FirstOrderClassifier struct{ Model energy.Model }

// Table implements [Classifier]. The error says that the model has no table.
func (c FirstOrderClassifier) Table(dst []float32, x []int32, _ float64) error {
	m, ok := energy.As[energy.Differentiable](c.Model)
	if !ok {
		return fmt.Errorf("diffusion: FirstOrderClassifier: %T is not energy.Differentiable", c.Model)
	}
	var e [1]float64
	m.Gradient(e[:], dst, x)
	for i, g := range dst {
		dst[i] = -g
	}
	return nil
}

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
	// cannot be combined with it.
	AtPosterior bool
}

// TimeFree returns false: a classifier may depend on time.
func (g ClassifierGuided) TimeFree() bool { return false }

// LeaveOneOut reports whether the denoiser predicts sites from the others.
func (g ClassifierGuided) LeaveOneOut() bool { return energy.LeaveOneOut(g.Denoiser) }

// Denoise implements [energy.Denoiser].
func (g ClassifierGuided) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := g.Denoiser.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	sites, levels := g.Shape()
	b := getTable(sites * levels)
	defer putTable(b)
	for s, t := range q.Time {
		if err := g.Classifier.Table(*b, q.X[s*sites:(s+1)*sites], t); err != nil {
			return err
		}
		lean(v[s*len(*b):(s+1)*len(*b)], *b, g.Scale)
	}
	return nil
}

func (g ClassifierGuided) check() error {
	switch {
	case g.Denoiser == nil || g.Classifier == nil:
		return fmt.Errorf("diffusion: ClassifierGuided: Denoiser and Classifier must be set")
	case !(g.Scale >= 0) || math.IsInf(g.Scale, 1):
		return fmt.Errorf("diffusion: ClassifierGuided: Scale = %v, want ≥ 0 and finite", g.Scale)
	}
	return nil
}

// lean adds γ·c to v. What either rules out stays ruled out.
func lean(v, c []float32, gamma float64) {
	if gamma == 0 {
		return
	}
	for i, w := range v {
		if !math.IsInf(float64(w), -1) {
			v[i] = float32(float64(w) + float64(gamma*float64(c[i])))
		}
	}
}

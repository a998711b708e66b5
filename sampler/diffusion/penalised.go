package diffusion

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// defaultWeight is the weight of the guidance, as in comparisons on series.
const defaultWeight = 0.1

// Penalised is a process of reals that is guided towards the set of all x with g_j(x) ≤ 0 for every
// j. After every step of Process from time t to time s it applies
//
//	x_s ← x_s − Weight·∂/∂x_t Σ_j max(0, g_j(x̂_0))²,
//
// where x̂_0 is the denoiser's prediction from x_t. Samples come closer to the set but need not be
// in it. To get samples in the set, use a projection.
type Penalised struct {
	Process Process[float32] // process to guide; nil means Gaussian{}

	// Set holds the constraints g_j ≤ 0 on the entries of a sample.
	Set constraint.Smooth

	// Weight is the factor ≥ 0 of the gradient; 0 means 0.1.
	Weight float64

	// Covariance, if not nil, stores P·v in dst, where P is the covariance of x_0 given x_t at the
	// signal level ᾱ = alpha. The derivative of the prediction with respect to x_t is then
	// √ᾱ/(1−ᾱ)·P. If Covariance is nil, this derivative is replaced by the identity. Covariance
	// may be called at the same time for different samples.
	Covariance func(dst, v []float64, alpha float64)
}

// Bind returns steps that make a step of the guided Process and then subtract the gradient of the
// penalty. It returns an error if a field is out of range or the guided Process cannot be bound. It
// implements [Process].
func (p Penalised) Bind(ctx context.Context, sites, levels int) (Steps[float32], error) {
	if p.Process == nil {
		p.Process = Gaussian{}
	}
	if err := cmp.Or(
		checkShape("Penalised", sites, levels),
		check.Given("diffusion: Penalised", "Set", p.Set),
		check.If(!(p.Weight >= 0) || math.IsInf(p.Weight, 1), "diffusion: Penalised: Weight = %v, want finite and ≥ 0", p.Weight),
		check.Given("diffusion: Penalised", "Process", p.Process),
	); err != nil {
		return nil, err
	}
	p.Weight = cmp.Or(p.Weight, defaultWeight)
	steps, err := p.Process.Bind(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	return &penalised{
		Steps: steps, recipe: p, g: make([]float64, p.Set.Len()),
		grad: make([]float64, sites), back: make([]float64, sites), pulled: make([]float32, sites),
	}, nil
}

// penalised holds the steps of a [Penalised] process, with scratch.
type penalised struct {
	Steps[float32]
	recipe  Penalised // settings with defaults filled in
	g, grad []float64
	pulled  []float32
	back    []float64
}

// MaxSteps returns the largest number of steps that a sample may take if a run requests the given
// number. It implements [Clocked].
func (p *penalised) MaxSteps(steps int) int { return slots.MaxSteps(p.Steps, steps) }

// Reverse makes a step of the guided process and then subtracts the gradient of the penalty. It
// implements [Steps].
func (p *penalised) Reverse(x []float32, raw, v []float32, t, s float64, r *sampler.Stream) error {
	p.slope(raw, t)
	if err := p.Steps.Reverse(x, raw, v, t, s, r); err != nil {
		return err
	}
	for i, v := range p.back {
		x[i] = float32(float64(x[i]) - float64(p.recipe.Weight*v))
	}
	return nil
}

// slope stores in p.back the gradient ∂/∂x_t Σ max(0, g(x̂_0))², where raw is the prediction x̂_0
// at time t.
func (p *penalised) slope(raw []float32, t float64) {
	check.Len("diffusion", "raw", len(raw), len(p.back))
	p.recipe.Set.Value(p.g, raw)
	for j, g := range p.g {
		p.g[j] = 2 * max(g, 0)
	}
	clear(p.pulled)
	p.recipe.Set.Pull(p.pulled, raw, p.g)
	for i, v := range p.pulled {
		p.grad[i] = float64(v)
	}
	if p.recipe.Covariance == nil {
		copy(p.back, p.grad)
		return
	}
	alpha := p.Alpha(t)
	p.recipe.Covariance(p.back, p.grad, alpha)
	factor := math.Sqrt(alpha) / (1 - alpha)
	for i := range p.back {
		p.back[i] *= factor
	}
}

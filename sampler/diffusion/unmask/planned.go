package unmask

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Planner ranks the sites of a state for [Planned].
type Planner interface {
	// Plan stores a score for every site; sites with higher scores are revealed first. The argument
	// x is the state, and x0 holds the token that each site has or would get. The argument v is the
	// prediction for x, up to a constant per site. Plan may be called concurrently and must not
	// keep the slices. NaN counts as −Inf.
	Plan(score []float64, x, x0 []int32, v []float32)
}

// Planned draws a token for every mask and lets a planner rank all sites. It reveals the
// highest-ranked sites, whose number grows evenly from step to step, and masks all others. Tokens
// with a low rank are thus drawn again. This is path planning (P2; Peng et al. 2025) and
// think-while-you-generate (DDPD; Liu et al. 2024).
//
// Planned samples from the denoiser's distribution if ranks are random, no site is masked again,
// and every step reveals one site. Otherwise the distribution depends on the planner.
type Planned struct {
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share
	// of masked sites.
	Schedule noise.Schedule

	// Planner ranks the sites. If it is nil, the score of a site is the log-probability of its
	// token under the denoiser. If the denoiser repeats unmasked tokens with certainty, they
	// are then never masked again.
	Planner Planner

	// Keep is added to the scores of unmasked tokens. If it is +Inf, no token is masked again.
	// Noise is the scale of the Gumbel noise added to all scores, ≥ 0.
	Keep, Noise float64
}

// Bind returns the steps of the process, or an error if a field is out of range. It implements
// diffusion.Process.
func (p Planned) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("Planned", p.Mask, p.Schedule, sites, levels)
	if err = cmp.Or(err,
		check.If(math.IsNaN(p.Keep) || math.IsInf(p.Keep, -1), "unmask: Planned: Keep = %v, want a number or +Inf", p.Keep),
		check.If(!(p.Noise >= 0) || math.IsInf(p.Noise, 1), "unmask: Planned: Noise = %v, want finite and ≥ 0", p.Noise),
	); err != nil {
		return nil, err
	}
	return &planned{masks: m, recipe: p, x0: make([]int32, sites), score: make([]float64, sites), order: make([]int, sites)}, nil
}

type planned struct {
	masks
	recipe Planned
	x0     []int32
	score  []float64
	order  []int
	shown  int // number of unmasked sites after this step
}

// MaxSteps returns the requested number of steps, but at most one per site. It implements
// diffusion.Clocked.
func (p *planned) MaxSteps(steps int) int { return min(steps, p.Sites) }

// Next returns the time after the next step, and sets the number of sites that will be unmasked
// after the step. It implements diffusion.Steps.
func (p *planned) Next(_ []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	steps = min(steps, p.Sites)
	p.shown = p.Sites
	if step+1 < steps {
		p.shown = (p.Sites*(step+1) + steps - 1) / steps
	}
	return p.after(p.Sites - p.shown)
}

// Reverse draws a token from the prediction v for every mask and lets the planner rank all sites.
// It then reveals the tokens of the highest-ranked sites and masks the others. It implements
// diffusion.Steps.
func (p *planned) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	for i, l := range x {
		p.x0[i] = l
		if l == p.Mask {
			var err error
			if p.x0[i], err = p.draw(v, i, r); err != nil {
				return err
			}
		}
	}
	p.plan(x, p.x0, v, r)
	return nil
}

// Renoise reveals the tokens of the clean sample x0 at the highest-ranked sites, and masks all
// other sites. Under a constraint, later steps draw tokens for these sites jointly, given the
// revealed tokens, so the sample still satisfies the constraint. It implements diffusion.Renoiser.
func (p *planned) Renoise(x, x0 []int32, v []float32, _, _ float64, r *sampler.Stream) {
	p.plan(x, x0, v, r)
}

func (p *planned) plan(x, x0 []int32, v []float32, r *sampler.Stream) {
	if p.recipe.Planner != nil {
		p.recipe.Planner.Plan(p.score, x, x0, v)
	} else {
		for i, l := range x0 {
			share, _, _ := p.share(v, i, l)
			p.score[i] = simd.Log(share)
		}
	}
	for i, l := range x {
		p.order[i] = i
		if l != p.Mask {
			p.score[i] += p.recipe.Keep
			if math.IsInf(p.recipe.Keep, 1) {
				p.score[i] = p.recipe.Keep
			}
		}
		if p.recipe.Noise > 0 {
			p.score[i] -= float64(p.recipe.Noise * simd.Log(-simd.Log1p(-r.Float64())))
		}
		if math.IsNaN(p.score[i]) {
			p.score[i] = math.Inf(-1)
		}
	}
	slices.SortStableFunc(p.order, func(i, j int) int { return cmp.Compare(p.score[j], p.score[i]) })
	for n, i := range p.order {
		if x[i] = p.Mask; n < p.shown {
			x[i] = x0[i]
		}
	}
}

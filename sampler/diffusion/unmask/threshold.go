package unmask

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Threshold draws a token for every mask and reveals the tokens with a probability of at least
// Reveal. If no token is that likely, it reveals the most likely one (on ties, the first).
//
// If Edit is set, it also edits unmasked tokens (LLaDA 2, Bie et al. 2025). The most likely token
// at a site then replaces the present one if its probability is at least Edit. Use this with a
// denoiser that predicts unmasked tokens from the other tokens.
//
// Threshold does not sample from the denoiser's distribution. It favours likely tokens, like
// diffusion.Ordered.
type Threshold struct {
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share
	// of masked sites.
	Schedule noise.Schedule
	Reveal   float64 // smallest probability at which a token is revealed; 0 means 0.9
	// Edit is the smallest probability for an edit; 0 means no edits. It must be above ½, so that
	// at most one token at a site can reach it.
	Edit   float64
	Greedy bool // whether to take the most likely token at each site instead of drawing one

	// Passes is the number of steps after the last mask has been revealed. These steps only edit.
	Passes int
}

// Bind returns the steps of the process, or an error if a field is out of range. It implements
// diffusion.Process.
func (p Threshold) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("Threshold", p.Mask, p.Schedule, sites, levels)
	p.Reveal = cmp.Or(p.Reveal, 0.9)
	if err = cmp.Or(err,
		check.If(!(p.Reveal > 0 && p.Reveal <= 1), "unmask: Threshold: Reveal = %v, want in (0, 1]", p.Reveal),
		check.If(p.Edit != 0 && !(p.Edit > 0.5 && p.Edit <= 1), "unmask: Threshold: Edit = %v, want 0 or in (½, 1]", p.Edit),
		check.If(p.Passes < 0, "unmask: Threshold: Passes = %d, want ≥ 0", p.Passes),
	); err != nil {
		return nil, err
	}
	return &threshold{masks: m, recipe: p, token: make([]int32, sites)}, nil
}

type threshold struct {
	masks
	recipe Threshold
	token  []int32
	passes int // number of passes for edits made for this sample
}

// MaxSteps returns the number of sites plus Passes; it implements diffusion.Clocked.
func (p *threshold) MaxSteps(int) int { return p.Sites + p.recipe.Passes }

// Prior masks every site of x; it implements diffusion.Steps.
func (p *threshold) Prior(x []int32, r *sampler.Stream) {
	p.passes = 0
	p.masks.Prior(x, r)
}

// Next returns the diffusion time at which the expected number of masks is one less than now. Once
// all masks are revealed, steps only edit tokens. Next ends the sample after Passes such steps (see
// [Threshold]). It implements diffusion.Steps.
func (p *threshold) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	left := p.Left(x)
	if left > 1 {
		return p.after(left - 1)
	}
	if left == 0 {
		p.passes++
	}
	if p.passes >= p.recipe.Passes {
		return 0
	}
	return p.after(1) // continue editing
}

// Reverse draws a token from the prediction v for every mask. It reveals the drawn tokens whose
// probability is at least Reveal or, if there are none, the most likely drawn token. It also
// replaces an unmasked token if the most likely token has probability ≥ Edit. It implements
// diffusion.Steps.
func (p *threshold) Reverse(x []int32, raw, v []float32, _, _ float64, r *sampler.Stream) error {
	for i, l := range x {
		if l != p.Mask {
			continue
		}
		token, err := p.draw(v, i, r)
		if err != nil {
			return err
		}
		if p.recipe.Greedy {
			_, token, _ = p.share(v, i, token)
		}
		p.token[i] = token
	}
	p.step(x, raw, v)
	return nil
}

// step edits unmasked tokens by the rows of raw, and reveals tokens by the rows of v.
func (p *threshold) step(x []int32, raw, v []float32) {
	first, best := -1, -1.0
	for i, l := range x {
		if l != p.Mask {
			if p.recipe.Edit > 0 {
				if _, other, top := p.share(raw, i, l); top >= p.recipe.Edit {
					x[i] = other
				}
			}
			continue
		}
		c, _, _ := p.share(v, i, p.token[i])
		if c > best {
			first, best = i, c
		}
		if c >= p.recipe.Reveal {
			x[i] = p.token[i]
		}
	}
	if first >= 0 {
		x[first] = p.token[first]
	}
}

// Renoise reveals those tokens of the clean sample x0 that are likely enough (see [Threshold]). It
// never edits an unmasked token, because the conditioned prediction v repeats that token. It
// implements diffusion.Renoiser.
func (p *threshold) Renoise(x, x0 []int32, v []float32, _, _ float64, _ *sampler.Stream) {
	copy(p.token, x0)
	p.step(x, v, v)
}

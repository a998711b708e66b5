package unmask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Scheduled reveals Counts[k] random masks in step k and draws their tokens independently from the
// prediction. The last step reveals all remaining masks. If all counts are 1, Scheduled samples
// from the denoiser's distribution p. Otherwise [Curve.Divergence] gives the divergence of its
// samples from p, for exact predictions. [Curve.Plan] finds the counts that minimise it.
type Scheduled struct {
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share of
	// masked sites.
	Schedule noise.Schedule

	// Counts holds the number of masks to reveal in each step, ≥ 1; nil means one mask per
	// step.
	Counts []int
}

// Bind returns the steps of the process, or an error if a field is out of range. It implements
// diffusion.Process.
func (p Scheduled) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("Scheduled", p.Mask, p.Schedule, sites, levels)
	if err != nil {
		return nil, err
	}
	for k, n := range p.Counts {
		if n < 1 {
			return nil, fmt.Errorf("unmask: Scheduled: Counts[%d] = %d, want ≥ 1", k, n)
		}
	}
	return &scheduled{random: random{masks: m, chosen: make([]int, 0, sites), end: sites}, counts: p.Counts}, nil
}

// random holds the methods of steps that reveal random masks.
type random struct {
	masks
	chosen       []int
	from, end, n int // the step reveals n of the sites with indices in [from, end)
}

// Reverse chooses the masks to reveal at random, and replaces each of them by a token drawn from
// the prediction v. It implements diffusion.Steps.
func (p *random) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	return p.show(p.some(x, r), x, v, r)
}

// Renoise chooses the masks to reveal at random, and replaces each of them by the token of the
// clean sample x0 at this site. It implements diffusion.Renoiser.
func (p *random) Renoise(x, x0 []int32, _ []float32, _, _ float64, r *sampler.Stream) {
	put(p.some(x, r), x, x0)
}

// some returns the sites that this step reveals.
func (p *random) some(x []int32, r *sampler.Stream) []int {
	return p.shuffle(p.chosen, x, p.from, p.end, p.n, r)
}

// Reweight updates the log-weights v of the clean tokens after a step: at each site that the step
// revealed, all weight goes to the revealed token. It implements diffusion.Joint.
func (p *random) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

type scheduled struct {
	random
	counts []int
}

// MaxSteps returns the number of steps in the schedule, but at most one per site. It implements
// diffusion.Clocked.
func (p *scheduled) MaxSteps(int) int {
	if p.counts == nil {
		return p.Sites
	}
	return min(len(p.counts), p.Sites)
}

// Next returns the time after the next step, and sets the number of masks that the step reveals. It
// implements diffusion.Steps.
func (p *scheduled) Next(x []int32, _ float64, step, _ int, _ *sampler.Stream) float64 {
	left := p.Left(x)
	p.n = 1
	if p.counts != nil {
		p.n = left
		if step < len(p.counts)-1 {
			p.n = min(left, p.counts[step])
		}
	}
	return p.after(left - p.n)
}

// Blocks reveals blocks of sites from left to right, and random masks within a block (block
// diffusion, Arriola et al. 2025). With Size 1, Blocks reveals the sites strictly from left to
// right (autoregressive). With Size 0, all sites form one block, as in [Scheduled]. With one mask
// per step, Blocks samples from the denoiser's distribution. With more masks per step, it draws the
// tokens of a step independently of each other.
type Blocks struct {
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share of
	// masked sites.
	Schedule noise.Schedule
	Size     int // number of sites per block; 0 means all sites
	// Steps is the number of steps per block; 0 means one mask per step. Each step reveals an equal
	// share of the block.
	Steps int
}

// Bind returns the steps of the process, or an error if a field is out of range. It implements
// diffusion.Process.
func (p Blocks) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("Blocks", p.Mask, p.Schedule, sites, levels)
	if err = cmp.Or(err,
		check.If(p.Size < 0, "unmask: Blocks: Size = %d, want ≥ 0", p.Size),
		check.If(p.Steps < 0, "unmask: Blocks: Steps = %d, want ≥ 0", p.Steps),
	); err != nil {
		return nil, err
	}
	p.Size = min(cmp.Or(p.Size, sites), sites)
	p.Steps = min(cmp.Or(p.Steps, p.Size), p.Size)
	return &blocks{random: random{masks: m, chosen: make([]int, 0, sites)}, size: p.Size, share: (p.Size + p.Steps - 1) / p.Steps}, nil
}

type blocks struct {
	random
	size, share int
}

// MaxSteps returns the total number of steps of all blocks; it implements diffusion.Clocked.
func (p *blocks) MaxSteps(int) int {
	full := (p.size + p.share - 1) / p.share
	last := p.Sites % p.size
	return p.Sites/p.size*full + (last+p.share-1)/p.share
}

// Next returns the time after the next step. It also selects the block and the number of masks that
// the step reveals. It implements diffusion.Steps.
func (p *blocks) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	p.from = max(0, slices.Index(x, p.Mask)) / p.size * p.size
	p.end = min(p.from+p.size, p.Sites)
	p.n = min(p.share, p.Left(x[p.from:p.end]))
	return p.after(p.Left(x) - p.n)
}

// EntropyBound reveals many masks in a step if the entropies of their tokens are small
// (entropy-bounded unmasking, Ben-Hamu et al. 2025). Masks are taken in order of increasing entropy
// of the prediction. The step reveals the largest set U with
//
//	Σ_{i∈U} H_i − max_{i∈U} H_i ≤ Bound,
//
// where H_i is the entropy at site i. It draws the tokens of U independently.
//
// Let p be the denoiser's distribution and q the distribution of the samples. With exact
// predictions,
//
//	KL(p‖q) ≤ Bound × the mean number of steps.
//
// With Bound 0, q = p, yet a single step reveals all sites whose tokens are certain. With a
// projection these bounds do not hold, but samples satisfy its constraint.
type EntropyBound struct {
	Mask int32
	// Schedule gives the probability α(t) that a token is unmasked at time t; nil means
	// noise.LogLinear{}. The denoiser is given the time t at which (1−α(t))/(1−α(1)) is the share of
	// masked sites.
	Schedule noise.Schedule
	Bound    float64 // bound ≥ 0, in nats, on Σ H_i − max H_i for the entropies H_i at the revealed sites
}

// Bind returns the steps of the process, or an error if a field is out of range. It implements
// diffusion.Process.
func (p EntropyBound) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("EntropyBound", p.Mask, p.Schedule, sites, levels)
	if err = cmp.Or(err, check.If(!(p.Bound >= 0), "unmask: EntropyBound: Bound = %v, want ≥ 0", p.Bound)); err != nil {
		return nil, err
	}
	return &entropyBound{masks: m, bound: p.Bound, order: make([]int, 0, sites), h: make([]float64, sites)}, nil
}

type entropyBound struct {
	masks
	bound float64
	order []int
	h     []float64
}

// MaxSteps returns the number of sites; it implements diffusion.Clocked.
func (p *entropyBound) MaxSteps(int) int { return p.Sites }

// Next returns the diffusion time at which the expected number of masks is one less than now. How
// many masks the step will reveal depends on the prediction, which is not known yet. If a sample
// has no masks, its last step changes nothing. It implements diffusion.Steps.
func (p *entropyBound) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	return p.after(p.Left(x) - 1)
}

// chosen returns the set U of sites to reveal.
func (p *entropyBound) chosen(x []int32, v []float32) []int {
	p.order = p.order[:0]
	for i, l := range x {
		if l == p.Mask {
			p.order = append(p.order, i)
			if p.h[i] = p.entropy(v, i); math.IsNaN(p.h[i]) {
				p.h[i] = 0 // the draw returns the error
			}
		}
	}
	slices.SortStableFunc(p.order, func(i, j int) int { return cmp.Compare(p.h[i], p.h[j]) })
	sum := 0.0
	for n, i := range p.order {
		if n > 0 && sum > p.bound {
			return p.order[:n]
		}
		sum += p.h[i]
	}
	return p.order
}

// Reverse replaces the masks in the set U (see [EntropyBound]) by tokens drawn from the prediction
// v. It implements diffusion.Steps.
func (p *entropyBound) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	return p.show(p.chosen(x, v), x, v, r)
}

// Renoise replaces the masks in the set U (see [EntropyBound]) by the tokens of the clean sample
// x0. U is computed from the entropies before the constraint is applied, so it is the same as in
// Reverse. It implements diffusion.Renoiser.
func (p *entropyBound) Renoise(x, x0 []int32, v []float32, _, _ float64, _ *sampler.Stream) {
	put(p.chosen(x, v), x, x0)
}

// Reweight updates the log-weights v of the clean tokens after a step: at each site that the step
// revealed, all weight goes to the revealed token. It implements diffusion.Joint.
func (p *entropyBound) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

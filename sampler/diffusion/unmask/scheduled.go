package unmask

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Scheduled reveals Counts[k] masks in step k, chosen at random, each by a draw
// of its own from the prediction; the last step reveals what is left. With exact
// predictions the divergence of its distribution q from p, with the order of the
// sites known, is what [Curve.Divergence] says, and [Curve.Plan] finds the counts
// that make it least. Counts of 1 throughout sample from p.
type Scheduled struct {
	Mask     int32
	Schedule noise.Schedule // what the denoiser is told; LogLinear{} if nil

	// Counts are ≥ 1; nil means one mask a step.
	Counts []int
}

// Bind checks the fields against the shape.
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
	return &scheduled{masks: m, counts: p.Counts, chosen: make([]int, 0, sites)}, nil
}

type scheduled struct {
	masks
	counts []int
	chosen []int
	n      int // masks to reveal in this step
}

// MaxSteps implements diffusion.Clocked.
func (p *scheduled) MaxSteps(int) int {
	if p.counts == nil {
		return p.Sites
	}
	return min(len(p.counts), p.Sites)
}

// Next implements diffusion.Steps.
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

// Reverse implements diffusion.Steps.
func (p *scheduled) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	return p.show(p.some(x, r), x, v, r)
}

// Renoise implements diffusion.Renoiser.
func (p *scheduled) Renoise(x, x0 []int32, _ []float32, _, _ float64, r *sampler.Stream) {
	put(p.some(x, r), x, x0)
}

// some returns the sites of this step.
func (p *scheduled) some(x []int32, r *sampler.Stream) []int {
	return p.shuffle(p.chosen, x, 0, len(x), p.n, r)
}

// Reweight implements diffusion.Joint.
func (p *scheduled) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

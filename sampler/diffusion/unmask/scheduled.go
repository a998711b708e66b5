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
		return p.sites
	}
	return min(len(p.counts), p.sites)
}

// Next implements diffusion.Steps.
func (p *scheduled) Next(x []int32, _ float64, step, _ int, _ *sampler.Stream) float64 {
	left := p.left(x)
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
func (p *scheduled) Reverse(x []int32, _, v []float32, _, s float64, r *sampler.Stream) error {
	for _, i := range p.shuffle(p.chosen, x, p.n, r) {
		l, err := p.draw(v, i, r)
		if err != nil {
			return err
		}
		x[i] = l
	}
	return nil
}

// Renoise implements diffusion.Renoiser.
func (p *scheduled) Renoise(x, x0 []int32, _ []float32, _, _ float64, r *sampler.Stream) {
	for _, i := range p.shuffle(p.chosen, x, p.n, r) {
		x[i] = x0[i]
	}
}

// Reweight implements diffusion.Joint: tokens that show now are certain, and a
// mask that stays says nothing about its token.
func (p *scheduled) Reweight(v []float32, xt, xs []int32, _, _ float64) {
	p.reweigh(v, xt, xs)
}

// reweigh makes the rows of tokens that show now one-hot.
func (m *masks) reweigh(v []float32, xt, xs []int32) {
	for i, l := range xs {
		if l != xt[i] {
			row := m.row(v, i)
			for j := range row {
				row[j] = never
			}
			row[l] = 0
		}
	}
}

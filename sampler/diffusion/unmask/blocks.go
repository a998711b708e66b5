package unmask

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Blocks reveals blocks of sites from left to right and random masks within a
// block (block diffusion, Arriola et al. 2025): Size 1 is autoregressive, Size 0,
// all sites, is [Scheduled]. With one mask a step it samples from p; more a step
// lose what sites of one block tell of each other.
type Blocks struct {
	Mask     int32
	Schedule noise.Schedule // what the denoiser is told; LogLinear{} if nil
	Size     int            // sites of a block, 0 for all
	Steps    int            // of a block, even shares; 0 means one mask a step
}

// Bind checks the fields against the shape.
func (p Blocks) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("Blocks", p.Mask, p.Schedule, sites, levels)
	switch {
	case err != nil:
		return nil, err
	case p.Size < 0:
		return nil, fmt.Errorf("unmask: Blocks: Size = %d, want ≥ 0", p.Size)
	case p.Steps < 0:
		return nil, fmt.Errorf("unmask: Blocks: Steps = %d, want ≥ 0", p.Steps)
	}
	if p.Size == 0 || p.Size > sites {
		p.Size = sites
	}
	if p.Steps == 0 || p.Steps > p.Size {
		p.Steps = p.Size
	}
	return &blocks{masks: m, size: p.Size, share: (p.Size + p.Steps - 1) / p.Steps, chosen: make([]int, 0, sites)}, nil
}

type blocks struct {
	masks
	size, share int
	chosen      []int
	from, n     int // the block of this step and the masks to reveal
}

// MaxSteps implements diffusion.Clocked.
func (p *blocks) MaxSteps(int) int {
	full := (p.size + p.share - 1) / p.share
	last := p.sites % p.size
	return p.sites/p.size*full + (last+p.share-1)/p.share
}

// Next implements diffusion.Steps.
func (p *blocks) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	p.from, p.n = 0, 0
	for i, l := range x {
		if l == p.mask {
			p.from = i / p.size * p.size
			p.n = min(p.share, p.left(p.block(x)))
			break
		}
	}
	return p.after(p.left(x) - p.n)
}

// block returns the sites under way.
func (p *blocks) block(x []int32) []int32 { return x[p.from:min(p.from+p.size, len(x))] }

// Reverse implements diffusion.Steps.
func (p *blocks) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	for _, i := range p.shuffle(p.chosen, p.block(x), p.n, r) {
		l, err := p.draw(v, p.from+i, r)
		if err != nil {
			return err
		}
		x[p.from+i] = l
	}
	return nil
}

// Renoise implements diffusion.Renoiser.
func (p *blocks) Renoise(x, x0 []int32, _ []float32, _, _ float64, r *sampler.Stream) {
	for _, i := range p.shuffle(p.chosen, p.block(x), p.n, r) {
		x[p.from+i] = x0[p.from+i]
	}
}

// Reweight implements diffusion.Joint.
func (p *blocks) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.reweigh(v, xt, xs) }

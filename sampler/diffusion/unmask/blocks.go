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
	last := p.Sites % p.size
	return p.Sites/p.size*full + (last+p.share-1)/p.share
}

// Next implements diffusion.Steps.
func (p *blocks) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	p.from, p.n = 0, 0
	for i, l := range x {
		if l == p.Mask {
			p.from = i / p.size * p.size
			p.n = min(p.share, p.Left(x[p.from:p.end()]))
			break
		}
	}
	return p.after(p.Left(x) - p.n)
}

// end returns the end of the block of this step.
func (p *blocks) end() int { return min(p.from+p.size, p.Sites) }

// Reverse implements diffusion.Steps.
func (p *blocks) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	return p.show(p.some(x, r), x, v, r)
}

// Renoise implements diffusion.Renoiser.
func (p *blocks) Renoise(x, x0 []int32, _ []float32, _, _ float64, r *sampler.Stream) {
	put(p.some(x, r), x, x0)
}

// some returns the sites of this step.
func (p *blocks) some(x []int32, r *sampler.Stream) []int {
	return p.shuffle(p.chosen, x, p.from, p.end(), p.n, r)
}

// Reweight implements diffusion.Joint.
func (p *blocks) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

package unmask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// EntropyBound reveals in every step the largest set U of masks, those of least
// entropy H first, with
//
//	Σ_{i∈U} H_i − max_{i∈U} H_i ≤ Bound,
//
// each by a draw of its own (entropy-bounded unmasking, Ben-Hamu et al. 2025). The
// left side bounds what the sites of U tell of each other, so with exact
// predictions KL(p‖q) ≤ Bound × the mean number of steps; Bound 0 samples from p
// and still reveals sites that are certain together. The set depends on the state
// alone, never on what is drawn.
type EntropyBound struct {
	Mask     int32
	Schedule noise.Schedule // what the denoiser is told; LogLinear{} if nil
	Bound    float64        // in nats, ≥ 0
}

// Bind checks the fields against the shape.
func (p EntropyBound) Bind(_ context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	m, err := bind("EntropyBound", p.Mask, p.Schedule, sites, levels)
	if err != nil {
		return nil, err
	}
	if !(p.Bound >= 0) {
		return nil, fmt.Errorf("unmask: EntropyBound: Bound = %v, want ≥ 0", p.Bound)
	}
	return &entropyBound{masks: m, bound: p.Bound, order: make([]int, 0, sites), h: make([]float64, sites)}, nil
}

type entropyBound struct {
	masks
	bound float64
	order []int
	h     []float64
}

// MaxSteps implements diffusion.Clocked.
func (p *entropyBound) MaxSteps(int) int { return p.Sites }

// Next implements diffusion.Steps: how many masks give way is not known before
// the prediction, so the denoiser is told the time of one less. A sample all of
// which shows is left as it is by a last step.
func (p *entropyBound) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	return p.after(p.Left(x) - 1)
}

// chosen returns U.
func (p *entropyBound) chosen(x []int32, v []float32) []int {
	p.order = p.order[:0]
	for i, l := range x {
		if l == p.Mask {
			p.order = append(p.order, i)
			if p.h[i] = p.entropy(v, i); math.IsNaN(p.h[i]) {
				p.h[i] = 0 // the draw will say why
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

// Reverse implements diffusion.Steps.
func (p *entropyBound) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	return p.show(p.chosen(x, v), x, v, r)
}

// Renoise implements diffusion.Renoiser: the same sites, by entropies before the
// language.
func (p *entropyBound) Renoise(x, x0 []int32, v []float32, _, _ float64, _ *sampler.Stream) {
	put(p.chosen(x, v), x, x0)
}

// Reweight implements diffusion.Joint.
func (p *entropyBound) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

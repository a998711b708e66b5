package diffusion

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// OrderScore says how sure a prediction is of a site.
type OrderScore uint8

const (
	ScoreProbability OrderScore = iota // the probability of the token drawn (LLaDA; Nie et al. 2025)
	ScoreMargin                        // the likeliest token's probability less the second's (Dream; Ye et al. 2025)
	ScoreEntropy                       // minus the entropy of the row (Dream)
)

// Ordered reveals masked tokens in the order of confidence, and, if Block is
// set, block by block from left to right. It is what LLaDA and Dream decode
// with.
//
// It does not sample from the denoiser's distribution: which sites are revealed depends
// on what was drawn for them, so likely tokens are favoured, even when sites are
// revealed one at a time. Use [Masked] for samples, Ordered for output that is
// more likely than samples are.
//
// Every step reveals ⌈masks of the block / steps left for the block⌉ tokens;
// blocks get equal shares of the steps.
type Ordered struct {
	Mask     int32
	Schedule noise.Schedule // what the denoiser is told; LogLinear{} if nil
	Score    OrderScore

	// Block is the length of a block of sites, 0 for all sites.
	Block int

	// Greedy takes the likeliest token of a row instead of a draw.
	Greedy bool
}

// Bind checks the fields against the shape.
func (p Ordered) Bind(_ context.Context, sites, levels int) (Steps[int32], error) {
	if err := checkShape("Ordered", sites, levels); err != nil {
		return nil, err
	}
	m, err := bindMasked("Ordered", Masked{Mask: p.Mask, Schedule: p.Schedule}, sites, levels)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Score > ScoreEntropy:
		return nil, fmt.Errorf("diffusion: Ordered: Score = %d, want ScoreProbability … ScoreEntropy", p.Score)
	case p.Block < 0:
		return nil, fmt.Errorf("diffusion: Ordered: Block = %d, want ≥ 0", p.Block)
	case p.Block == 0 || p.Block > sites:
		p.Block = sites
	}
	return &ordered{
		recipe: p, masked: m, quota: make([]int, (sites+p.Block-1)/p.Block),
		token: make([]int32, sites), score: make([]float64, sites), p: make([]float32, levels),
	}, nil
}

// ordered is a bound [Ordered] and belongs to one sample.
type ordered struct {
	recipe Ordered // without zeros
	masked *masked
	quota  []int // by block: masks to reveal in this step
	token  []int32
	score  []float64
	p      []float32
}

// Alpha implements [Steps].
func (p *ordered) Alpha(t float64) float64 { return p.masked.Alpha(t) }

// Prior masks every token.
func (p *ordered) Prior(x []int32, r *sampler.Stream) { p.masked.Prior(x, r) }

// Masks implements [Absorbing].
func (p *ordered) Masks(l int32) bool { return p.masked.Masks(l) }

// Next implements [Steps]: an even grid. It also decides how many masks give way in the step, block by block.
func (p *ordered) Next(x []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	blocks := len(p.quota)
	for b := range p.quota {
		p.quota[b] = 0
		first, end := b*steps/blocks, (b+1)*steps/blocks
		if step < first && step < steps-1 {
			continue
		}
		masks := 0
		for _, l := range p.part(b, x) {
			if l == p.masked.mask {
				masks++
			}
		}
		left := max(end-step, 1)
		p.quota[b] = (masks + left - 1) / left
	}
	return gridTime(step, steps)
}

// part returns block b of x.
func (p *ordered) part(b int, x []int32) []int32 {
	return x[b*p.recipe.Block : min((b+1)*p.recipe.Block, len(x))]
}

// Reverse implements [Steps].
func (p *ordered) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	levels := rowLen(v, len(x))
	for b, quota := range p.quota {
		if quota == 0 {
			continue
		}
		for j, l := range p.part(b, x) {
			if l != p.masked.mask {
				continue
			}
			i := b*p.recipe.Block + j
			v[i*levels+int(p.masked.mask)] = float32(math.Inf(-1))
			if err := p.choose(v, i, levels, r); err != nil {
				return err
			}
			p.rate(v, i, levels)
		}
		p.reveal(b, x, quota)
	}
	return nil
}

// choose sets the token of site i.
func (p *ordered) choose(v []float32, i, levels int, r *sampler.Stream) (err error) {
	if !p.recipe.Greedy {
		p.token[i], err = drawRow(v, i, levels, r)
		return err
	}
	row := v[i*levels : (i+1)*levels]
	simd.ArgMax(p.token[i:i+1], row, levels)
	if p.token[i] < 0 {
		return badRow(row, i)
	}
	return nil
}

// rate scores the token of site i.
func (p *ordered) rate(v []float32, i, levels int) {
	var total [1]float64
	row := v[i*levels : (i+1)*levels]
	simd.Weights(p.p, total[:], row, levels, 0)
	switch p.recipe.Score {
	case ScoreProbability:
		p.score[i] = float64(p.p[p.token[i]]) / total[0]
	case ScoreMargin:
		first, second := float32(0), float32(0)
		for _, w := range p.p {
			first, second = max(first, w), max(second, min(first, w))
		}
		p.score[i] = float64(first-second) / total[0]
	case ScoreEntropy:
		sum := 0.0
		for _, w := range p.p {
			if q := float64(w) / total[0]; q > 0 {
				sum += float64(q * simd.Log(q))
			}
		}
		p.score[i] = sum
	}
}

// reveal shows the quota masks of block b with the highest scores, the first
// among equals.
func (p *ordered) reveal(b int, x []int32, quota int) {
	part := p.part(b, x)
	for range quota {
		best := -1
		for j, l := range part {
			if l == p.masked.mask && (best < 0 || p.score[b*p.recipe.Block+j] > p.score[b*p.recipe.Block+best]) {
				best = j
			}
		}
		if best < 0 {
			return
		}
		part[best] = p.token[b*p.recipe.Block+best]
	}
}

// Condition implements [Renoiser].
func (p *ordered) Condition(v []float32, x []int32, t float64, leaveOneOut bool) {
	p.masked.Condition(v, x, t, leaveOneOut)
}

// Intact is that of masked diffusion: see [IntactSteps].
func (p *ordered) Intact(x0, x []int32) { p.masked.Intact(x0, x) }

// Renoise implements [Renoiser]: the tokens of x0, in the order of their scores.
func (p *ordered) Renoise(x, x0 []int32, v []float32, _, _ float64, _ *sampler.Stream) {
	levels := rowLen(v, len(x))
	for b, quota := range p.quota {
		if quota == 0 {
			continue
		}
		for j, l := range p.part(b, x) {
			if i := b*p.recipe.Block + j; l == p.masked.mask {
				p.token[i] = x0[i]
				p.rate(v, i, levels)
			}
		}
		p.reveal(b, x, quota)
	}
}

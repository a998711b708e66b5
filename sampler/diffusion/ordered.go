package diffusion

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// OrderScore selects how [Ordered] measures the confidence in the prediction for a site. The sites
// with the highest scores are revealed first.
type OrderScore uint8

const (
	// probability of the drawn token (LLaDA; Nie et al. 2025)
	ScoreProbability OrderScore = iota
	// difference between the two largest probabilities of a token (Dream; Ye et al. 2025)
	ScoreMargin
	ScoreEntropy // negative entropy of the prediction (Dream)
)

// String returns "probability", "margin" or "entropy".
func (s OrderScore) String() string {
	return check.Name("OrderScore", s, "probability", "margin", "entropy")
}

// MarshalText returns the name that String returns.
func (s OrderScore) MarshalText() ([]byte, error) {
	return check.MarshalName("score", s, ScoreEntropy)
}

// UnmarshalText sets s to the score of the given name. It lets flags and files hold an OrderScore.
func (s *OrderScore) UnmarshalText(name []byte) error {
	return check.UnmarshalName("score", s, ScoreEntropy, name)
}

// Ordered is masked diffusion that begins with the tokens of which the denoiser is most confident.
// If Block is set, it works block by block from left to right, as LLaDA and Dream do.
//
// Use [Masked] for samples, and Ordered for output that is more likely than typical samples. With
// ScoreProbability or Greedy, Ordered favours likely tokens and does not sample from the denoiser's
// distribution. With other scores, sites that are revealed one at a time follow this distribution.
// Sites revealed in the same step are drawn independently. A projection's constraint holds with
// every score.
//
// All blocks get the same share of the steps. If a block has m masks and k steps left, a step
// reveals ⌈m/k⌉ of its tokens.
type Ordered struct {
	Mask int32
	// schedule of α, the probability that a token is unmasked; nil means noise.LogLinear{}
	Schedule noise.Schedule
	Score    OrderScore

	// Block is the number of sites in a block; 0 means that all sites form one block.
	Block int

	// Greedy takes the most likely token at each site instead of drawing a token.
	Greedy bool
}

// Bind returns the steps of the process, or an error if a field of the Ordered does not match the
// shape. It implements [Process].
func (p Ordered) Bind(_ context.Context, sites, levels int) (Steps[int32], error) {
	m, err := slots.NewAbsorbing("diffusion: Ordered", p.Mask, p.Schedule, sites, levels)
	if err = cmp.Or(err,
		check.If(p.Score > ScoreEntropy, "diffusion: Ordered: Score = %d, want ScoreProbability … ScoreEntropy", p.Score),
		check.If(p.Block < 0, "diffusion: Ordered: Block = %d, want ≥ 0", p.Block),
	); err != nil {
		return nil, err
	}
	p.Block = min(cmp.Or(p.Block, sites), sites)
	return &ordered{
		absorbing: absorbing{m}, recipe: p, quota: make([]int, (sites+p.Block-1)/p.Block),
		token: make([]int32, sites), score: make([]float64, sites), p: make([]float32, levels),
	}, nil
}

// ordered is a bound [Ordered] and belongs to one sample.
type ordered struct {
	absorbing
	recipe Ordered // settings with defaults filled in
	quota  []int   // number of masks of each block to reveal in this step
	token  []int32
	score  []float64
	p      []float32
}

// Next returns the diffusion time at which the next step ends, and computes how many masks of each
// block the step reveals. All steps have the same length. It implements [Steps].
func (p *ordered) Next(x []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	blocks := len(p.quota)
	for b := range p.quota {
		p.quota[b] = 0
		first, end := b*steps/blocks, (b+1)*steps/blocks
		if step < first && step < steps-1 {
			continue
		}
		left := max(end-step, 1)
		p.quota[b] = (p.Left(p.part(b, x)) + left - 1) / left
	}
	return gridTime(step, steps)
}

// part returns block b of x.
func (p *ordered) part(b int, x []int32) []int32 {
	return x[b*p.recipe.Block : min((b+1)*p.recipe.Block, len(x))]
}

// Reverse draws a token from the prediction v for each mask, and reveals those tokens that have the
// highest scores (see [OrderScore]). It implements [Steps].
func (p *ordered) Reverse(x []int32, _, v []float32, _, _ float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, r)
}

// Renoise reveals the masks with the highest scores (see [OrderScore]), by setting them to the
// tokens of the clean sample x0. It implements [Renoiser].
func (p *ordered) Renoise(x, x0 []int32, v []float32, _, _ float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, r)
}

// step reveals tokens of x0. If x0 is nil, it chooses the tokens from the rows of v.
func (p *ordered) step(x, x0 []int32, v []float32, r *sampler.Stream) (err error) {
	for b, quota := range p.quota {
		if quota == 0 {
			continue
		}
		for j, l := range p.part(b, x) {
			if l != p.Mask {
				continue
			}
			i := b*p.recipe.Block + j
			if p.token[i], err = p.choose(x0, v, i, r); err != nil {
				return err
			}
			p.rate(v, i)
		}
		p.reveal(b, x, quota)
	}
	return nil
}

// choose returns the token to reveal at site i. If x0 is nil, it chooses the token from the row of
// v; otherwise it takes the token from x0.
func (p *ordered) choose(x0 []int32, v []float32, i int, r *sampler.Stream) (int32, error) {
	if x0 != nil || !p.recipe.Greedy {
		return p.absorbing.token(x0, v, i, r)
	}
	var l [1]int32
	row := p.Row(v, i)
	row[p.Mask] = float32(math.Inf(-1))
	if simd.ArgMax(l[:], row, p.Levels); l[0] < 0 {
		return 0, badRow(v, i, p.Levels)
	}
	return l[0], nil
}

// rate computes the score of the token chosen for site i.
func (p *ordered) rate(v []float32, i int) {
	var total [1]float64
	simd.Weights(p.p, total[:], p.Row(v, i), p.Levels, 0)
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

// reveal reveals quota masks of block b, in order of decreasing score. Among equal scores it takes
// the first site.
func (p *ordered) reveal(b int, x []int32, quota int) {
	part := p.part(b, x)
	for range quota {
		best := -1
		for j, l := range part {
			if l == p.Mask && (best < 0 || p.score[b*p.recipe.Block+j] > p.score[b*p.recipe.Block+best]) {
				best = j
			}
		}
		if best < 0 {
			return
		}
		part[best] = p.token[b*p.recipe.Block+best]
	}
}

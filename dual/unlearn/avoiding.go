package unlearn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Avoiding wraps a denoiser, called the original model, so that samples contain no tokens of a
// given set F. The only exceptions are sites at which the original model allows no other tokens.
//
// Avoiding also estimates the probability that a sample of the original model contains no token of
// F. It is
//
//	E ∏_k (1 − h_k),
//
// where h_k is the probability, under the original model, that the k-th token revealed is in F. The
// mean is over samples drawn with Avoiding by the same process. [Avoiding.LogSurvival] returns the
// logarithm of the product for each sample. The mean of the products is an unbiased estimate.
//
// An Avoiding must be used by one diffusion, whose process is diffusion.Masked, with or without
// FirstHitting. It keeps a record for every sample, so make a new one after an interrupted run. It
// is not safe for concurrent use.
type Avoiding struct {
	base          energy.Denoiser[int32]
	avoid         []bool // for each level: whether it is in F (see [Avoiding])
	mask          int32
	sites, levels int

	samples []survivor
	slot    map[int]int // index in samples for each sample index
}

// survivor is the record of one sample of an [Avoiding].
type survivor struct {
	x    []int32   // state at the last prediction
	stay []float64 // for each site: log(1 − h) at the last prediction
	sum  float64   // sum of log(1 − h) over the tokens revealed so far
}

// NewAvoiding returns a denoiser that predicts like q but without the given tokens. The argument
// mask is the level that stands for a masked token. NewAvoiding returns an error if q is nil, or if
// mask or a token is not a level. At least one token must be given, and at least one other level
// besides the mask must remain.
func NewAvoiding(q energy.Denoiser[int32], mask int32, tokens ...int32) (*Avoiding, error) {
	if err := check.Given("unlearn: NewAvoiding", "q", q); err != nil {
		return nil, err
	}
	a := &Avoiding{base: q, mask: mask, slot: map[int]int{}}
	a.sites, a.levels = q.Shape()
	if a.sites < 1 || mask < 0 || int(mask) >= a.levels {
		return nil, fmt.Errorf("unlearn: NewAvoiding: mask = %d of %d levels and %d sites, want a level and ≥ 1 site", mask, a.levels, a.sites)
	}
	a.avoid = make([]bool, a.levels)
	left := a.levels - 1
	for i, l := range tokens {
		if l < 0 || int(l) >= a.levels || l == mask {
			return nil, fmt.Errorf("unlearn: NewAvoiding: tokens[%d] = %d, want 0 … %d and not the mask %d", i, l, a.levels-1, mask)
		}
		if !a.avoid[l] {
			a.avoid[l] = true
			left--
		}
	}
	if len(tokens) == 0 || left < 1 {
		return nil, fmt.Errorf("unlearn: NewAvoiding: %d tokens of %d levels and a mask, want ≥ 1 and one that is left", len(tokens), a.levels)
	}
	return a, nil
}

// Shape returns the numbers of sites and levels of the denoiser.
func (a *Avoiding) Shape() (sites, levels int) { return a.sites, a.levels }

// MaskLevel returns the level that stands for a masked token; it implements [energy.Masking].
func (a *Avoiding) MaskLevel() int32 { return a.mask }

// Denoise stores in v the log-weights predicted by the original model, but with −Inf for every
// token in F (see [Avoiding]). If no other token is possible at a site, the prediction for the site
// is unchanged. Denoise implements energy.Denoiser. It returns an error unless Noised.Reveals shows
// that tokens are revealed one at a time or independently.
func (a *Avoiding) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if q.Reveals != energy.RevealsOne && q.Reveals != energy.RevealsEach {
		return fmt.Errorf("unlearn: Avoiding: Noised.Reveals = %d, want RevealsOne or RevealsEach: sample by diffusion.Masked, without a projector, guidance or particles", q.Reveals)
	}
	if q.Sample == nil && len(q.Time) > 0 {
		return fmt.Errorf("unlearn: Avoiding: Noised.Sample = nil, want the number of every state: survival is counted by sample")
	}
	if err := a.base.Denoise(ctx, v, q); err != nil {
		return err
	}
	for s, sample := range q.Sample {
		x := q.X[s*a.sites : (s+1)*a.sites]
		k, known := a.slot[sample]
		if !known {
			k = len(a.samples)
			a.slot[sample] = k
			a.samples = append(a.samples, survivor{x: slices.Clone(x), stay: make([]float64, a.sites)})
		}
		r := &a.samples[k]
		r.settle(x, a.mask)
		copy(r.x, x)
		for i, l := range x {
			if l == a.mask {
				r.stay[i] = a.exclude(v[(s*a.sites+i)*a.levels : (s*a.sites+i+1)*a.levels])
			}
		}
	}
	return nil
}

// settle adds to r.sum the log(1 − h) of every token that is revealed in x but masked in the last
// recorded state.
func (r *survivor) settle(x []int32, mask int32) {
	for i, l := range x {
		if r.x[i] == mask && l != mask {
			r.sum += r.stay[i]
		}
	}
}

// exclude removes the tokens of F from a row of log-weights (see [Avoiding]). It returns the
// logarithm of the probability of the remaining tokens. If no token remains, exclude leaves the row
// unchanged and returns −Inf, so a sample drawn from the row counts as not surviving.
func (a *Avoiding) exclude(row []float32) float64 {
	top := math.Inf(-1)
	for l, w := range row {
		if int32(l) != a.mask {
			top = max(top, float64(w))
		}
	}
	all, left := 0.0, 0.0
	for l, w := range row {
		if int32(l) == a.mask || math.IsInf(float64(w), -1) {
			continue
		}
		p := simd.Exp(float64(w) - top)
		all += p
		if !a.avoid[l] {
			left += p
		}
	}
	if !(left > 0) {
		return math.Inf(-1)
	}
	for l := range row {
		if a.avoid[l] {
			row[l] = float32(math.Inf(-1))
		}
	}
	return simd.Log(left / all)
}

// LogSurvival stores in dst the sum Σ_k log(1 − h_k) of each sample in x (see [Avoiding]). Then it
// discards all records. The slice x must hold the most recent samples, in the order in which the
// diffusion began them; dst has one entry per sample. The sum is −Inf if some site of the sample
// allowed only tokens in F. LogSurvival panics if x holds more samples than have been drawn since
// the last call, or if lengths do not match.
func (a *Avoiding) LogSurvival(dst []float64, x []int32) {
	n := check.Rows("unlearn", "x", len(x), a.sites)
	check.Len("unlearn", "dst", len(dst), n)
	if len(a.samples) < n {
		panic(fmt.Sprintf("unlearn: Avoiding: %d samples since the last call, want ≥ %d", len(a.samples), n))
	}
	for s := range dst {
		r := &a.samples[len(a.samples)-n+s]
		r.settle(x[s*a.sites:(s+1)*a.sites], a.mask)
		dst[s] = r.sum
	}
	a.samples = a.samples[:0]
	clear(a.slot)
}

package denoise

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// Markov is the exact denoiser of a [model.Markov] chain of order k. It computes the posterior of
// every token given the corrupted sequence (forward–backward algorithm over contexts of k tokens).
// With L sites and K levels, a prediction costs at most 2·L·K^{k+1} multiplications. It costs less
// for a masked sequence.
//
// If a corrupted sequence is impossible under the chain, its prediction is −Inf everywhere.
// Predictions have the same bits on every GOARCH. A Markov is immutable and safe for concurrent
// use.
type Markov struct {
	sites, k, order int
	corruption      Corruption
	// probabilities of the first context, and of a token given its context
	start, trans []float64
	contexts     int // number of contexts: k^order
}

// NewMarkov returns the exact denoiser of the model m under the corruption c. It returns an error
// if m is nil or c is unknown.
func NewMarkov(m *model.Markov, c Corruption) (*Markov, error) {
	if m == nil {
		return nil, fmt.Errorf("denoise: NewMarkov: m is nil")
	}
	if err := c.check("NewMarkov"); err != nil {
		return nil, err
	}
	d := &Markov{order: m.Order(), corruption: c}
	d.sites, d.k = m.Shape()
	d.start, d.trans = m.Probabilities()
	d.contexts = len(d.start)
	if d.order == 0 {
		// Use a chain of order 1 with equal rows, so that there are contexts.
		d.order, d.contexts, d.start = 1, d.k, d.trans
		d.trans = slices.Repeat(d.start, d.k)
	}
	return d, nil
}

// Shape returns the number of sites and the number of levels of predictions. If the corruption is
// Absorbing, the mask is one of the levels.
func (d *Markov) Shape() (sites, levels int) { return d.sites, d.corruption.levels(d.k) }

// TimeFree reports whether predictions are independent of time: true for Absorbing, false for
// Noisy.
func (d *Markov) TimeFree() bool { return d.corruption == Absorbing }

// MaskLevel returns the level of the mask, or −1 if the corruption is [Noisy], which has no mask.
// It implements [energy.Masking].
func (d *Markov) MaskLevel() int32 { return d.corruption.mask(d.k) }

// Denoise stores in v the exact log-posteriors of all tokens; it implements [energy.Denoiser].
func (d *Markov) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	// forward messages at sites order … sites, and two backward messages
	scratch := (d.sites - d.order + 3) * d.contexts
	return d.corruption.denoise(ctx, v, q, d.sites, d.k, scratch, d)
}

// posterior runs forward–backward on one sequence. Message t is over the contexts before token
// order+t. The next context drops the oldest token.
func (d *Markov) posterior(p, like, b []float64) {
	c, k, n := d.contexts, d.k, d.sites-d.order
	forward := func(t int) []float64 { return b[t*c : (t+1)*c] }
	after, before := b[(n+1)*c:(n+2)*c], b[(n+2)*c:(n+3)*c]
	clear(p)
	d.first(forward(0), like)
	for t := range n {
		if !d.forward(forward(t+1), forward(t), like[(d.order+t)*k:(d.order+t+1)*k]) {
			return
		}
	}
	for i := range after {
		after[i] = 1
	}
	for t := n - 1; t >= 0; t-- {
		at := (d.order + t) * k
		d.backward(p[at:at+k], before, after, forward(t), like[at:at+k])
		after, before = before, after
	}
	for ctx, w := range forward(0) {
		if w = float64(w * after[ctx]); w == 0 {
			continue
		}
		for j, rest := d.order-1, ctx; j >= 0; j, rest = j-1, rest/k {
			p[j*k+rest%k] += w
		}
	}
}

// first stores the distribution of the first context given its corrupted tokens.
func (d *Markov) first(dst, like []float64) {
	for ctx, w := range d.start {
		for j, rest := d.order-1, ctx; j >= 0 && w != 0; j, rest = j-1, rest/d.k {
			w = float64(w * like[j*d.k+rest%d.k])
		}
		dst[ctx] = w
	}
	normalise(dst)
}

// forward stores the distribution of the next context given its last token y, next(c') ∝
// seen(y)·Σ_c now(c)·trans(c; y). It returns false if no context is possible.
func (d *Markov) forward(next, now, seen []float64) bool {
	k := d.k
	lo, hi := support(seen)
	clear(next)
	for ctx, w := range now {
		if w == 0 {
			continue
		}
		at := ctx % (d.contexts / k) * k
		ahead := next[at+lo : at+hi]
		for y, p := range d.trans[ctx*k+lo : ctx*k+hi] {
			ahead[y] += float64(w * p)
		}
	}
	sum := d.see(next, seen, lo, hi)
	if sum == 0 {
		return false
	}
	for ; len(next) > 0; next = next[k:] {
		for y := lo; y < hi; y++ {
			next[y] /= sum
		}
	}
	return true
}

// see multiplies the weight of every context that ends in a token y, lo ≤ y < hi, by seen(y). It
// returns the sum of these weights.
func (d *Markov) see(w, seen []float64, lo, hi int) float64 {
	sum := 0.0
	for ; len(w) > 0; w = w[d.k:] {
		for y := lo; y < hi; y++ {
			w[y] = float64(w[y] * seen[y])
			sum += w[y]
		}
	}
	return sum
}

// backward stores before(c) ∝ Σ_y trans(c; y)·seen(y)·after(c') for the contexts c with now(c) > 0,
// and the posterior of the token in p. c' is the context that follows c and the token y. It
// overwrites after.
func (d *Markov) backward(p, before, after, now, seen []float64) {
	k := d.k
	lo, hi := support(seen)
	d.see(after, seen, lo, hi)
	total := 0.0
	for ctx, w := range now {
		before[ctx] = 0
		if w == 0 {
			continue
		}
		at := ctx % (d.contexts / k) * k
		row, ahead, out := d.trans[ctx*k+lo:ctx*k+hi], after[at+lo:at+hi], p[lo:hi]
		sum := 0.0
		for y, q := range row {
			u := float64(q * ahead[y])
			sum += u
			out[y] += float64(w * u)
		}
		before[ctx] = sum
		total += sum
	}
	if total == 0 {
		return // outside the range of float64: rows become −Inf
	}
	for ctx, w := range now {
		if w != 0 {
			before[ctx] /= total
		}
	}
}

// support returns the smallest range that contains all nonzero entries of w. For an unmasked
// token it holds one entry.
func support(w []float64) (lo, hi int) {
	for hi = len(w); hi > 0 && w[hi-1] == 0; hi-- {
	}
	for lo < hi && w[lo] == 0 {
		lo++
	}
	return lo, hi
}

package energy

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// MarkovDenoiser is the exact denoiser of a [Markov] chain: the posterior of
// every token given the corrupted sequence, by forward–backward over the
// contexts of k tokens. With L sites and K levels a prediction costs at most
// 2·L·K^{k+1} multiplications; contexts that the tokens on show rule out cost
// nothing, which makes masked sequences cheaper the more of them is known.
//
// A sequence that is impossible — tokens were revealed together that the chain
// never puts together — gets rows of −Inf: nothing can be drawn from it. Sums
// are float64, and the same bits on every GOARCH. A MarkovDenoiser is immutable
// and safe for concurrent use.
type MarkovDenoiser struct {
	sites, k, order int
	corruption      Corruption
	start, trans    []float64 // probabilities
	contexts        int       // K^order
}

// NewMarkovDenoiser returns the denoiser of the chain. The error says that m is
// nil or c unknown.
func NewMarkovDenoiser(m *Markov, c Corruption) (*MarkovDenoiser, error) {
	if m == nil {
		return nil, fmt.Errorf("energy: NewMarkovDenoiser: m is nil")
	}
	if err := c.check("NewMarkovDenoiser"); err != nil {
		return nil, err
	}
	d := &MarkovDenoiser{
		sites: m.sites, k: m.levels, order: m.order, corruption: c,
		start: expNeg(m.start), trans: expNeg(m.trans), contexts: m.pow[m.order],
	}
	return d, nil
}

// expNeg returns e^{−c}.
func expNeg(c []float64) []float64 {
	p := make([]float64, len(c))
	for i, v := range c {
		p[i] = simd.Exp(-v)
	}
	return p
}

// Shape returns the shape of predictions (see [TableDenoiser.Shape]).
func (d *MarkovDenoiser) Shape() (sites, levels int) { return d.sites, d.corruption.levels(d.k) }

// TimeFree reports whether the corruption is Absorbing.
func (d *MarkovDenoiser) TimeFree() bool { return d.corruption == Absorbing }

// Denoise implements [Denoiser].
func (d *MarkovDenoiser) Denoise(ctx context.Context, v []float32, q Noised[int32]) error {
	// Forward messages at sites order … sites, then two backward ones.
	n := d.sites - d.order + 1
	b := float64s.get((n + 2) * d.contexts)
	defer float64s.put(b)
	var failed error
	d.corruption.each(v, q, d.sites, d.k, func(p, like []float64) {
		if failed = ctx.Err(); failed == nil {
			d.posterior(p, like, *b)
		}
	})
	return failed
}

// posterior is forward–backward for one sequence. Message t is over the contexts
// before token order+t; a context's next one drops its oldest token.
func (d *MarkovDenoiser) posterior(p, like, b []float64) {
	c, k, n := d.contexts, d.k, d.sites-d.order
	forward := func(t int) []float64 { return b[t*c : (t+1)*c] }
	after, before := b[(n+1)*c:(n+2)*c], b[(n+2)*c:(n+3)*c]
	clear(p)
	d.first(forward(0), like)
	for t := range n {
		next, l := forward(t+1), like[(d.order+t)*k:(d.order+t+1)*k]
		clear(next)
		for ctx, w := range forward(t) {
			if w == 0 {
				continue
			}
			to := ctx % (c / d.drop()) * d.keep()
			for y, e := range l {
				if e != 0 {
					next[to+y*d.step()] += float64(float64(w*d.trans[ctx*k+y]) * e)
				}
			}
		}
		if normalise(next) == 0 {
			return
		}
	}
	for i := range after {
		after[i] = 1
	}
	for t := n - 1; t >= 0; t-- {
		row, l := p[(d.order+t)*k:(d.order+t+1)*k], like[(d.order+t)*k:(d.order+t+1)*k]
		for ctx, w := range forward(t) {
			before[ctx] = 0
			if w == 0 {
				continue
			}
			to := ctx % (c / d.drop()) * d.keep()
			sum := 0.0
			for y, e := range l {
				if e == 0 {
					continue
				}
				u := float64(float64(d.trans[ctx*k+y]*e) * after[to+y*d.step()])
				sum += u
				row[y] += float64(w * u)
			}
			before[ctx] = sum
		}
		normalise(before)
		after, before = before, after
	}
	for ctx, w := range forward(0) {
		w = float64(w * after[ctx])
		for j, rest := d.order-1, ctx; j >= 0; j, rest = j-1, rest/k {
			p[j*k+rest%k] += w
		}
	}
}

// first stores the law of the first context and what was seen of it.
func (d *MarkovDenoiser) first(dst, like []float64) {
	for ctx, w := range d.start {
		for j, rest := d.order-1, ctx; j >= 0; j, rest = j-1, rest/d.k {
			w = float64(w * like[j*d.k+rest%d.k])
		}
		dst[ctx] = w
	}
	normalise(dst)
}

// The context after token y is (context mod K^{order−1})·K + y, or 0 without
// memory: drop is what the oldest token counts, keep and step what the others
// and y are multiplied by.

func (d *MarkovDenoiser) drop() int {
	if d.order == 0 {
		return 1
	}
	return d.k
}

func (d *MarkovDenoiser) keep() int {
	if d.order == 0 {
		return 0
	}
	return d.k
}

func (d *MarkovDenoiser) step() int {
	if d.order == 0 {
		return 0
	}
	return 1
}

package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// confined is the discrete Langevin proposal restricted to a language C,
//
//	q_C(y|x) = ∏_i q_i(y_i|x) · 1[y ∈ C] / Z_C(x).
//
// A trellis draws from it jointly and exactly. The normaliser Z_C depends on x, so Z_C(x)/Z_C(y)
// is part of the acceptance ratio. Without it the chain would sample another distribution.
type confined struct {
	rows
	model       energy.Model
	within      *support
	now, loaded []confinedChain
}

// confinedChain holds the log-weights of a proposal at one state, and the trellis that sums over
// C.
type confinedChain struct {
	v   []float32
	run *trellis.Runner
	ok  bool // the sums over C exist: the weights are valid and some state of C has positive weight
}

func newConfined(ctx context.Context, method string, m energy.Model, chains int, l langevin) (*confined, error) {
	if l.window > 0 {
		return nil, fmt.Errorf("mcmc: %s: Window = %d with Within: a restricted proposal needs whole rows", method, l.window)
	}
	base, err := newRows(method, m, chains, l)
	if err != nil {
		return nil, err
	}
	if base.levels == 2 {
		base.values, base.apart = nil, 1 // two levels are at distance 1, whatever their values
	}
	p := padded.New(confined{rows: *base, model: m})
	// not used: the trellis computes the sums
	p.p, p.sum = padded.Pair[float32]{}, padded.Pair[float64]{}
	if p.within, err = newSupport(ctx, method, l.within, p.sites, p.levels); err != nil {
		return nil, err
	}
	n := p.sites * p.levels
	for range chains {
		p.now = append(p.now, confinedChain{v: make([]float32, n), run: trellis.NewRunner(p.within.graph)})
		p.loaded = append(p.loaded, confinedChain{v: make([]float32, n), run: trellis.NewRunner(p.within.graph)})
	}
	return p, nil
}

func (p *confined) check(lo, hi int, x []int32) error { return p.within.check(lo, hi, x) }

func (p *confined) start(x []int32, r *sampler.Stream) error { return p.within.start(p.model, x, r) }

// sumOne computes the log-weights of a chain at state x and sums them over the language. It
// returns false if it was stopped.
func (p *confined) sumOne(c *confinedChain, g []float32, x []int32, at *sweep.Cursor) bool {
	for i, l := range x {
		lo, hi := i*p.levels, (i+1)*p.levels
		p.logits(c.v[lo:hi], g[lo:hi], l, p.kappa(i))
	}
	_, err := c.run.FilterUntil(c.v, at, at.Part > 0)
	if err == trellis.ErrStopped {
		at.Part = 1
		return false
	}
	c.ok = err == nil
	return true
}

func (p *confined) sums(lo, hi int, chains []confinedChain, g []float32, x []int32, at *sweep.Cursor) bool {
	n := p.sites * p.levels
	for s := lo; s < hi; s++ {
		if !p.sumOne(&chains[s], g[s*n:(s+1)*n], x[s*p.sites:(s+1)*p.sites], at) {
			return false
		}
	}
	return true
}

// work returns the number of elementary operations per chain: a table, and a pass over the
// trellis.
func (p *confined) work() int { return sweep.Times(p.rows.work(), confinedWork) }

// confinedWork is the cost of a pass over the trellis per site and level, relative to the cost of
// a level in a table.
const confinedWork = 8

func (p *confined) weigh(lo, hi int, y []int32, at *sweep.Cursor) bool {
	return p.sums(lo, hi, p.loaded, p.g.Next, y, at)
}

func (p *confined) rebuild(lo, hi int, x []int32, at *sweep.Cursor) bool {
	return p.sums(lo, hi, p.now, p.g.Now, x, at)
}

func (p *confined) accept(lo, hi int) {
	p.g.Accept(lo, hi)
	for s := lo; s < hi; s++ {
		p.now[s], p.loaded[s] = p.loaded[s], p.now[s]
	}
}

func (p *confined) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	c := &p.now[s]
	if !c.ok {
		return 0, math.NaN()
	}
	c.run.Draw(y, r)
	return sweep.Changed(x, y), c.run.LogProb(y)
}

func (p *confined) logProb(y, _ []int32, s int) float64 { return p.loaded[s].logProb(y) }

func (p *confined) current(y, _ []int32, s int) float64 { return p.now[s].logProb(y) }

func (c *confinedChain) logProb(y []int32) float64 {
	if !c.ok {
		return math.NaN()
	}
	return c.run.LogProb(y)
}

func (p *confined) fields(f *wire.Fields) {
	f.Float32s(p.g.Now)
	for s := range p.now {
		c := &p.now[s]
		if f.Float32s(c.v); f.Reading() {
			_, err := c.run.Filter(c.v)
			c.ok = err == nil
		}
	}
}

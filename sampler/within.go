package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// confined is the discrete Langevin proposal restricted to a language C,
//
//	q_C(y|x) = ∏_i q_i(y_i|x) · 1[y ∈ C] / Z_C(x),
//
// drawn jointly and exactly by the trellis. The normaliser depends on x, so it
// is part of the acceptance ratio; without Z_C(x)/Z_C(y) the law would be wrong.
type confined struct {
	rows
	graph       *trellis.Graph
	name        string
	now, loaded []confinedChain
	first       []float32 // log-weights of an initial draw
	e           []float64 // one energy
}

// confinedChain holds the log-weights at one state and the sums over C.
type confinedChain struct {
	v   []float32
	run *trellis.Runner
	ok  bool // the sums could be taken
}

// unroll compiles the language of a method's Within for a shape.
func unroll(method string, within constraint.Automaton, sites, levels int) (*trellis.Graph, error) {
	rest, mask := constraint.Split(within)
	cfg := trellis.Config{Sites: sites, Levels: levels}
	if mask != nil {
		cfg.Allows = mask.Allows
	}
	g, err := trellis.Compile(context.Background(), rest, cfg)
	var dead *trellis.DeadError
	switch {
	case errors.As(err, &dead):
		return nil, fmt.Errorf("sampler: %s: Within: %s dies at site %d of %d: %w", method, constraint.Name(within), dead.Site, sites, constraint.ErrInfeasible)
	case err != nil:
		return nil, fmt.Errorf("sampler: %s: Within: %s: %w", method, constraint.Name(within), err)
	}
	return g, nil
}

func newConfined(method string, m energy.Model, chains int, l langevin) (*confined, error) {
	if l.window > 0 {
		return nil, fmt.Errorf("sampler: %s: Window = %d with Within: a restricted proposal needs whole rows", method, l.window)
	}
	base, err := newRows(method, m, chains, l)
	if err != nil {
		return nil, err
	}
	if base.levels == 2 {
		base.values, base.apart = nil, 1 // two levels are 1 apart, whatever they stand for
	}
	p := &confined{rows: *base, name: constraint.Name(l.within)}
	p.p, p.nextP, p.sum, p.nextSum = nil, nil, nil, nil // the trellis takes the sums
	if p.graph, err = unroll(method, l.within, p.sites, p.levels); err != nil {
		return nil, err
	}
	n := p.sites * p.levels
	for range chains {
		p.now = append(p.now, confinedChain{v: make([]float32, n), run: trellis.NewRunner(p.graph)})
		p.loaded = append(p.loaded, confinedChain{v: make([]float32, n), run: trellis.NewRunner(p.graph)})
	}
	p.first, p.e = make([]float32, n), make([]float64, 1)
	return p, nil
}

// check returns a *StartError if a state is not in the language.
func (p *confined) check(x []int32) error {
	for s := 0; s*p.sites < len(x); s++ {
		if !p.graph.Accepts(x[s*p.sites : (s+1)*p.sites]) {
			return &StartError{Chain: s, Constraint: p.name}
		}
	}
	return nil
}

// start replaces the state x by a uniform draw from the language, among the
// levels to which the model's table at x gives probability.
func (p *confined) start(x []int32, r *Stream) error {
	clear(p.first)
	g := p.nextG[:len(p.first)]
	p.table(p.e, g, x)
	if checkStart(p.e) == nil {
		for i, d := range g {
			if math.IsInf(float64(d), 1) {
				p.first[i] = float32(math.Inf(-1))
			}
		}
	}
	run := p.loaded[0].run
	if _, err := run.Filter(p.first); err != nil {
		return fmt.Errorf("sampler: Within: no state of %s has positive probability: %w", p.name, constraint.ErrInfeasible)
	}
	run.Draw(x, r)
	return nil
}

// sumOne fills the log-weights of a chain at state x and takes the sums.
func (p *confined) sumOne(c *confinedChain, g []float32, x []int32) {
	for i, at := range x {
		lo, hi := i*p.levels, (i+1)*p.levels
		p.logits(c.v[lo:hi], g[lo:hi], at, p.kappa(i))
	}
	_, err := c.run.Filter(c.v)
	c.ok = err == nil
}

func (p *confined) sumAll(chains []confinedChain, g []float32, x []int32) {
	n := p.sites * p.levels
	for s := 0; s*p.sites < len(x); s++ {
		p.sumOne(&chains[s], g[s*n:(s+1)*n], x[s*p.sites:(s+1)*p.sites])
	}
}

func (p *confined) load(e []float64, x []int32) {
	p.table(e, p.nextG, x)
	p.sumAll(p.loaded, p.nextG, x)
}

func (p *confined) estimate(x []int32, r []Stream) {
	p.guess(x, r)
	p.sumAll(p.loaded, p.nextG, x)
}

func (p *confined) accept(s int) {
	n := p.sites * p.levels
	copy(p.g[s*n:(s+1)*n], p.nextG[s*n:])
	p.now[s], p.loaded[s] = p.loaded[s], p.now[s]
}

func (p *confined) acceptAll() {
	p.g, p.nextG = p.nextG, p.g
	p.now, p.loaded = p.loaded, p.now
}

func (p *confined) setStep(alpha, beta float64, x []int32) {
	p.alpha, p.beta = alpha, float32(beta)
	p.sumAll(p.now, p.g, x)
}

func (p *confined) draw(y, x []int32, s int, r *Stream) (moved int, logq float64) {
	c := &p.now[s]
	if !c.ok {
		return 0, math.NaN()
	}
	c.run.Draw(y, r)
	for i := range y {
		if y[i] != x[i] {
			moved++
		}
	}
	return moved, c.run.LogProb(y)
}

func (p *confined) logProb(y, _ []int32, s int) float64 { return p.loaded[s].logProb(y) }

func (p *confined) current(y, _ []int32, s int) float64 { return p.now[s].logProb(y) }

func (c *confinedChain) logProb(y []int32) float64 {
	if !c.ok {
		return math.NaN()
	}
	return c.run.LogProb(y)
}

func (p *confined) appendBinary(b []byte) []byte {
	b = appendFloat32s(b, p.g)
	for s := range p.now {
		b = appendFloat32s(b, p.now[s].v)
	}
	return b
}

func (p *confined) unmarshalBinary(b []byte, alpha float64) ([]byte, error) {
	p.alpha = alpha
	b, err := readFloat32s(b, p.g)
	if err != nil {
		return nil, err
	}
	for s := range p.now {
		c := &p.now[s]
		if b, err = readFloat32s(b, c.v); err != nil {
			return nil, err
		}
		_, err := c.run.Filter(c.v)
		c.ok = err == nil
	}
	return b, nil
}

package projection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Nearest is a [Proximal] compiled for a runner: a [Projection] that keeps the
// multipliers of every sample from step to step. Different samples may be
// projected concurrently; after warm-up nothing allocates.
type Nearest struct {
	sites, samples int
	rows           int
	duals          []float64 // samples × rows

	mu   sync.Mutex
	free []*desk
	tmpl *Solver
}

// desk is the scratch of one call.
type desk struct {
	solver *Solver
	z      []float64
}

// Bind compiles the recipe for real series of the given number of sites, levels
// being 1. The result is a *[Nearest].
func (p Proximal) Bind(sites, levels, samples int) (Projection, error) {
	if levels != 1 {
		return nil, fmt.Errorf("projection: Proximal: levels = %d, want 1: it is for real-valued series", levels)
	}
	if samples < 1 {
		return nil, fmt.Errorf("projection: Proximal: samples = %d, want ≥ 1", samples)
	}
	s, err := p.Compile(sites)
	if err != nil {
		return nil, err
	}
	rows := s.iter.len()
	return &Nearest{sites: sites, samples: samples, rows: rows, duals: make([]float64, samples*rows), tmpl: s}, nil
}

// Project replaces the series v by its projection, with the γ and the metric of
// the step, and returns the violation in the units of the rows, before rounding
// to float32. Curved inequalities are linearised four times and hold
// approximately, as the violation tells, until the last step, to = 0. There they
// hold, or a *[NotConverged] says that they do not.
func (p *Nearest) Project(_ context.Context, sample int, v []float32, from, to float64, _ rand.Source) (violation float64, err error) {
	check.Len("projection", "v", len(v), p.sites)
	d := p.take()
	defer p.give(d)
	for i, x := range v {
		d.z[i] = float64(x)
	}
	s := d.solver
	dual := p.dual(sample)
	copy(s.iter.y, dual)
	s.At(from)
	s.hasty = to > 0
	c, err := s.Penalised(d.z, d.z, s.recipe.Gamma.at(from, to))
	copy(dual, s.iter.y)
	if _, not := err.(*NotConverged); err != nil && !(not && s.curves != nil && to > 0) {
		return c.Violation, err
	}
	for i, x := range d.z {
		v[i] = float32(x)
	}
	return c.Violation, nil
}

// Reset forgets the multipliers of a sample.
func (p *Nearest) Reset(sample int) { clear(p.dual(sample)) }

// Copy gives sample dst the multipliers of sample src.
func (p *Nearest) Copy(dst, src int) { copy(p.dual(dst), p.dual(src)) }

// dual returns the multipliers of a sample.
func (p *Nearest) dual(sample int) []float64 {
	return p.duals[sample*p.rows : (sample+1)*p.rows]
}

// take returns scratch that no other call uses.
func (p *Nearest) take() *desk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		d := p.free[n-1]
		p.free = p.free[:n-1]
		return d
	}
	return &desk{solver: p.tmpl.Clone(), z: make([]float64, p.sites)}
}

// give returns scratch to the others.
func (p *Nearest) give(d *desk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, d)
}

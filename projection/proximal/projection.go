package proximal

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projection is a [Projector] compiled for a runner: a [projection.Projection]
// that keeps the multipliers of every sample from step to step. Different
// samples may be projected concurrently; after warm-up nothing allocates.
type Projection struct {
	sites, samples int
	rows           int
	duals          []float64 // samples × rows
	gamma          Gamma

	mu   sync.Mutex
	free []*scratch
	tmpl *Solver
}

// scratch is the scratch of one call.
type scratch struct {
	solver *Solver
	z      []float64
}

// newProjection returns a projection without multipliers, by clones of s.
func newProjection(s *Solver, gamma Gamma, samples int) *Projection {
	rows := s.iter.len()
	return &Projection{
		sites: s.iter.n, samples: samples, rows: rows, duals: make([]float64, samples*rows), gamma: gamma, tmpl: s,
	}
}

// Project replaces the series v by its projection, with the γ and the metric of
// the step, and returns the violation in the units of the rows, before rounding
// to float32. Curved inequalities are linearised four times and hold
// approximately, as the violation tells, until the last step, to = 0. There they
// hold, or a *[projection.NotConverged] says that they do not.
func (p *Projection) Project(_ context.Context, sample int, v []float32, from, to float64, _ rand.Source) (violation float64, err error) {
	check.Len("proximal", "v", len(v), p.sites)
	d := p.take()
	defer p.give(d)
	for i, x := range v {
		d.z[i] = float64(x)
	}
	s := d.solver
	dual := p.dual(sample)
	copy(s.iter.y, dual)
	s.At(from)
	s.rough = to > 0
	c, err := s.Penalised(d.z, d.z, p.gamma.at(from, to))
	copy(dual, s.iter.y)
	if _, not := err.(*projection.NotConverged); err != nil && !(not && s.curves != nil && to > 0) {
		return c.Violation, err
	}
	for i, x := range d.z {
		v[i] = float32(x)
	}
	return c.Violation, nil
}

// Reset forgets the multipliers of a sample, which must not be projected at the
// same time. It panics unless the sample is one of those that Bind was told of.
func (p *Projection) Reset(sample int) { clear(p.dual(sample)) }

// Copy gives sample dst the multipliers of sample src, for particles that are
// resampled. Neither must be projected at the same time.
func (p *Projection) Copy(dst, src int) { copy(p.dual(dst), p.dual(src)) }

// dual returns the multipliers of a sample.
func (p *Projection) dual(sample int) []float64 {
	return p.duals[sample*p.rows : (sample+1)*p.rows]
}

// take returns scratch that no other call uses.
func (p *Projection) take() *scratch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		d := p.free[n-1]
		p.free = p.free[:n-1]
		return d
	}
	return &scratch{solver: p.tmpl.Clone(), z: make([]float64, p.sites)}
}

// give returns scratch to the others.
func (p *Projection) give(d *scratch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, d)
}

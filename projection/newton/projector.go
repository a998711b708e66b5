package newton

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projector moves real-valued predictions toward solutions of equations h(z) = 0. It makes one
// Gauss–Newton step in every step of a diffusion or flow. In the last step, it instead moves the
// prediction to the nearest solution. The method is physics-constrained flow matching (Utkarsh,
// Cai, Edelman, Gómez-Bombarelli and Rackauckas 2025).
//
// A Projector is written as a struct literal. Bind compiles it for a runner such as package
// sampler/diffusion. Compile returns a [Solver] for direct use.
type Projector struct {
	// Equations holds the functions h_j. A solution has h_j = 0, not h_j ≤ 0.
	Equations constraint.Curved

	// Tolerance is the largest |h_j| that a solution may have, in float64. 0 means 1e-10.
	Tolerance float64
}

const defaultTolerance = 1e-10

// Bind compiles the Projector for real states of the given number of sites; levels must be 1. The
// method Project of the result replaces a state and returns its violation, max |h_j| over the
// equations h_j = 0. What Project does depends on the time at which the diffusion step ends:
//
//   - At a time > 0, it makes one [Solver.Step] and returns the violation before the step.
//   - At time 0, in the last step, it uses [Solver.Solve] and returns the violation of the result,
//     before rounding to float32.
//
// Different samples may be projected concurrently. After the first calls, Project does not
// allocate. Bind returns the errors of [Projector.Compile], and an error if levels ≠ 1 or samples <
// 1.
func (p Projector) Bind(_ context.Context, sites, levels, samples int) (projection.Projection, error) {
	if levels != 1 || samples < 1 {
		return nil, fmt.Errorf("newton: levels = %d, samples = %d, want 1 and ≥ 1", levels, samples)
	}
	s, err := p.Compile(sites)
	if err != nil {
		return nil, err
	}
	return &bound{solver: s}, nil
}

// Compile returns a solver for states of n ≥ 1 entries. It returns an error if n is out of range,
// or if there are no equations or more than n. It also returns an error if Tolerance is negative or
// not finite.
func (p Projector) Compile(n int) (*Solver, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("newton: n = %d, want ≥ 1", n)
	case check.Nil(p.Equations):
		return nil, fmt.Errorf("newton: Projector.Equations is nil")
	case !(p.Tolerance >= 0) || !check.Finite(p.Tolerance):
		return nil, fmt.Errorf("newton: Projector.Tolerance = %v, want finite and ≥ 0", p.Tolerance)
	}
	m := p.Equations.Len()
	if m < 1 || m > n {
		return nil, fmt.Errorf("newton: %d equations, want 1 … %d, the entries of a state", m, n)
	}
	if err := check.Entries("newton", "equations × n", m, n); err != nil {
		return nil, err
	}
	if p.Tolerance == 0 {
		p.Tolerance = defaultTolerance
	}
	return newSolver(p.Equations, n, p.Tolerance), nil
}

// bound is a [Projector] compiled for a runner.
type bound struct {
	solver *Solver
	free   scratch.Stock[work]
}

// work is the scratch of one call.
type work struct {
	solver *Solver
	z      []float64
}

// Project makes one Gauss–Newton step if to > 0, and otherwise solves the equations. See
// [Projector.Bind]. It implements [projection.Projection].
func (p *bound) Project(_ context.Context, _ int, v []float32, _, to float64, _ rand.Source) (violation float64, err error) {
	check.Len("newton", "v", len(v), p.solver.n)
	w := p.free.Take(func() *work { return &work{p.solver.clone(), make([]float64, p.solver.n)} })
	defer p.free.Give(w)
	for i, x := range v {
		w.z[i] = float64(x)
	}
	if to > 0 {
		violation, err = w.solver.Step(w.z, w.z)
	} else {
		err = w.solver.Solve(w.z, w.z)
		violation = largest(w.solver.h)
	}
	for i, x := range w.z {
		v[i] = float32(x)
	}
	return violation, err
}

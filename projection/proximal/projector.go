package proximal

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projector moves real-valued predictions to a set given by linear and smooth inequalities. For a
// prediction ẑ of a clean series it finds
//
//	argmin_z ½‖z−ẑ‖² + (γ/2)·Σ_j max(0, f_j(z)),
//
// where f_j(z) ≤ 0 are the inequalities. This is the penalty form. If γ is large or Gamma is nil,
// the solution is the point nearest to ẑ with f(z) ≤ 0. This is the hard form. It is the projection
// of constrained posterior sampling (Narasimhan, Agarwal, Akcin, Shakkottai and Chinchali 2025,
// equation 4). Projector solves the dual problem to a precision of 1e-12 and returns a
// [Certificate].
//
// A Projector is written as a struct literal. For every field except Set, the zero value is the
// recommended setting. Bind returns a [Projection] for a runner, and Compile a [Solver] for direct
// use.
type Projector struct {
	// Set is the feasible set, for series in the units in which the denoiser works. If Set is a
	// [Splitter], such as [constraint.Linear], [constraint.Slabs] or *series.System, its linear
	// rows are satisfied exactly. All other inequalities are linearised repeatedly (a prox-linear
	// method, Drusvyatskiy and Paquette 2019). This converges to a stationary point, which need not
	// be the nearest feasible point.
	Set constraint.Smooth

	// Gamma is the schedule of the penalty weight γ. Nil means the hard form, in which no violation
	// is allowed.
	Gamma Gamma

	// Metric, unless nil, replaces the squared distance ‖z−ẑ‖² between the solution z and the
	// prediction ẑ by (z−ẑ)ᵀP⁻¹(z−ẑ), where P is positive definite. The function stores in dst the
	// product P·v, where P may depend on the diffusion time t. If P is the covariance of a Gaussian
	// clean series given the noisy series, the projection onto equations is the posterior mean
	// given the equations. Metric must be safe for concurrent use, and P·v must depend only on v
	// and t. For series of up to 1000 entries it is called with all unit vectors at every new t.
	Metric func(dst, v []float64, t float64)

	// Soften accepts linear inequalities that contradict each other. [Solver.Solve] then returns
	// the solution of the penalty form (see [Projector]) with γ = [SoftGamma] instead of an error.
	Soften bool
}

// Bind compiles the Projector for real series of the given number of sites; levels must be 1. The
// result is a *[Projection]. Bind returns the errors of [Projector.Compile], and an error if
// levels ≠ 1 or samples < 1.
func (p Projector) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if levels != 1 {
		return nil, fmt.Errorf("proximal: levels = %d, want 1: it is for real-valued series", levels)
	}
	if samples < 1 {
		return nil, fmt.Errorf("proximal: samples = %d, want ≥ 1", samples)
	}
	s, err := p.Compile(ctx, sites)
	if err != nil {
		return nil, err
	}
	return newProjection(s, p.Gamma, samples), nil
}

// Compile returns a solver for series of n ≥ 1 entries. The error describes what is wrong with the
// set, or wraps the cause of ctx. If linear inequalities contradict each other and Soften is not
// set, the error is a *[ContradictionError].
func (p Projector) Compile(ctx context.Context, n int) (*Solver, error) {
	if n < 1 {
		return nil, fmt.Errorf("proximal: n = %d, want ≥ 1", n)
	}
	if err := check.Entries("proximal", "n", n); err != nil {
		return nil, err
	}
	if check.Nil(p.Set) {
		return nil, fmt.Errorf("proximal: Set is nil")
	}
	linear, curved := split(p.Set)
	if err := validate(p.Set, linear, n); err != nil {
		return nil, fmt.Errorf("proximal: %w", err)
	}
	rows := newSlabs(n, linear)
	if rows.emptyViolation > leastSlack && !p.Soften {
		return nil, &ContradictionError{Rows: []int{rows.worst}, Multiplier: []float64{1}, Slack: rows.emptyViolation}
	}
	var name func(row int) string // nil: rows have numbers only
	if s, ok := p.Set.(Named); ok {
		name = s.RowName
	}
	if !p.Soften {
		// Contradictions show before anything runs.
		if err := poll.Err(ctx); err != nil {
			return nil, fmt.Errorf("proximal: %w", err)
		}
		alone := newSolver(rows, nil, nil, false, name)
		zero := make([]float64, n)
		if _, err := alone.Solve(zero, zero); err != nil {
			return nil, err
		}
	}
	return newSolver(rows, curved, p.Metric, p.Soften, name), nil
}

// Projection is a [Projector] compiled for a runner such as package sampler/diffusion. It
// implements [projection.Projection]. For every sample it keeps the Lagrange multipliers. The
// sample's next step starts from these multipliers. Different samples may be projected
// concurrently. After the first calls, Project does not allocate.
type Projection struct {
	sites, samples int
	rows           int
	duals          []float64 // multipliers, samples × rows
	gamma          Gamma

	free scratch.Stock[work]
	tmpl *Solver
}

// work is the scratch of one call.
type work struct {
	solver *Solver
	z      []float64
}

// newProjection returns a projection that uses clones of s, with all multipliers zero.
func newProjection(s *Solver, gamma Gamma, samples int) *Projection {
	rows := s.iter.len()
	return &Projection{
		sites: s.iter.n, samples: samples, rows: rows, duals: make([]float64, samples*rows), gamma: gamma, tmpl: s,
	}
}

// Project replaces the series v by its projection. The step goes from the diffusion time start to
// the time end; these times determine γ and the metric. Project returns the largest violation
// before rounding to float32, in the units of the rows. In the last step (end = 0), curved
// inequalities hold, or Project returns a *[projection.NotConverged]. In all other steps they are
// linearised four times, and may be violated by the returned amount.
func (p *Projection) Project(_ context.Context, sample int, v []float32, start, end float64, _ rand.Source) (violation float64, err error) {
	check.Len("proximal", "v", len(v), p.sites)
	d := p.take()
	defer p.give(d)
	for i, x := range v {
		d.z[i] = float64(x)
	}
	s := d.solver
	dual := p.dual(sample)
	copy(s.iter.y, dual)
	s.At(start)
	s.rough = end > 0
	c, err := s.Penalised(d.z, d.z, p.gamma.at(start, end))
	copy(dual, s.iter.y)
	if _, not := err.(*projection.NotConverged); err != nil && !(not && s.curves != nil && end > 0) {
		return c.Violation, err
	}
	for i, x := range d.z {
		v[i] = float32(x)
	}
	return c.Violation, nil
}

// Reset sets to zero the Lagrange multipliers that are kept for a sample from one step to the next.
// The sample must not be projected at the same time. Reset panics unless 0 ≤ sample < samples,
// where samples is the argument of Bind.
func (p *Projection) Reset(sample int) { clear(p.dual(sample)) }

// Copy gives sample dst a copy of the Lagrange multipliers that are kept for sample src. Use it
// when particles are resampled. Neither sample may be projected at the same time.
func (p *Projection) Copy(dst, src int) { copy(p.dual(dst), p.dual(src)) }

// dual returns the multipliers of a sample.
func (p *Projection) dual(sample int) []float64 {
	return p.duals[sample*p.rows : (sample+1)*p.rows]
}

// take returns scratch that no other call uses.
func (p *Projection) take() *work {
	return p.free.Take(func() *work { return &work{solver: p.tmpl.clone(), z: make([]float64, p.sites)} })
}

// give returns scratch for reuse.
func (p *Projection) give(d *work) { p.free.Give(d) }

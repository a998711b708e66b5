package proximal

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/activeset"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Solver solves projection problems with the same constraint, one after the other. Each problem
// starts from the Lagrange multipliers of the previous one, which saves steps if the problems are
// similar. A Solver is not safe for concurrent use. After the first calls, its methods do not
// allocate.
type Solver struct {
	metric func(dst, v []float64, t float64) // nil if there is no metric
	soften bool
	name   func(row int) string // nil if rows have no names
	iter   *newton
	curves *curves // nil if all inequalities are linear

	caps   float64 // value of γ/2, times scale, for which the caps are set
	scale  float64 // scale of the metric P: the iteration uses P/scale
	time   float64 // diffusion time of the metric
	base   *slabs  // rows without tangents
	rough  bool    // true if a few linearisations suffice
	damped float64 // damping μ of the last step
	small  *dense  // active-set method; nil until it is used
	size   float64 // magnitude of the prediction, at least 1
}

// newSolver returns a solver with all multipliers zero.
func newSolver(rows *slabs, curved constraint.Curved, metric func(dst, v []float64, t float64), soften bool, name func(int) string) *Solver {
	s := &Solver{metric: metric, soften: soften, name: name, scale: 1, base: rows, caps: math.NaN()}
	if curved != nil && curved.Len() > 0 {
		s.curves = newCurves(rows.n, curved)
		rows = s.curves.extend(rows)
	}
	s.iter = newNewton(rows, metric != nil)
	if metric != nil {
		s.At(1)
	}
	return s
}

// Solve stores in z the point of the feasible set that is nearest to v,
//
//	argmin_z ½‖z−v‖²  over  f(z) ≤ 0,
//
// where f(z) ≤ 0 are the inequalities. Distances are in the Metric of the [Projector] if that is
// set. The slices z and v may be the same.
//
// If the linear inequalities contradict each other, z is the solution of the penalty form (see
// [Solver.Penalised]) with γ = [SoftGamma]. The error is then a *[ContradictionError] unless Soften
// is set. If the iteration fails, the error is a *[projection.NotConverged] and z holds the best
// iterate. If v is not finite, Solve returns an error and does not change z.
func (s *Solver) Solve(z, v []float64) (Certificate, error) { return s.Penalised(z, v, math.Inf(1)) }

// Penalised stores in z the solution of the penalty form,
//
//	argmin_z ½‖z−v‖² + (γ/2)·Σ_j max(0, f_j(z)),
//
// where f_j(z) ≤ 0 are the inequalities. If γ/2 exceeds the largest multiplier of the problem of
// [Solver.Solve], both problems have the same solution. The weight γ must be ≥ 0. For γ = +Inf,
// Penalised is the same as Solve.
func (s *Solver) Penalised(z, v []float64, gamma float64) (Certificate, error) {
	n := s.iter.n
	check.Len("proximal", "z", len(z), n)
	check.Len("proximal", "v", len(v), n)
	if !(gamma >= 0) {
		return Certificate{}, fmt.Errorf("proximal: γ = %v, want ≥ 0", gamma)
	}
	size := 1.0
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Certificate{}, fmt.Errorf("proximal: v[%d] = %v, want finite", i, x)
		}
		size = max(size, math.Abs(x))
	}
	s.size = size
	s.limit(gamma / 2 * s.scale)
	if s.curves != nil {
		return s.curved(z, v, gamma, size)
	}
	c, err := s.linear(v, proxTol*size)
	for i, x := range v {
		z[i] = x + s.iter.pc[i]
	}
	s.iter.certify(&c, z, s.scale)
	return c, err
}

// linear finds the multipliers for the prediction v, and the vectors c and pc that follow from
// them.
func (s *Solver) linear(v []float64, tol float64) (cert Certificate, err error) {
	w := s.iter
	end, residual := s.iterate(v, tol, &cert)
	if end != excluded && s.iterated() < w.len() && !w.closed(v) {
		clear(w.p[:w.coupled])
		end = excluded
	}
	switch end {
	case failed:
		err = &projection.NotConverged{Method: "proximal", Residual: residual, Want: tol, Iterations: cert.Steps}
	case excluded:
		if !s.soften {
			w.reduce(s.base.len())
			err = w.explain(s.name)
		}
		caps := s.caps
		s.limit(SoftGamma / 2 * s.scale)
		clear(w.y)
		cert, soft := s.linear(v, tol)
		cert.Contradiction = true
		s.limit(caps)
		clear(w.y) // they prove nothing
		if err == nil {
			err = soft
		}
		return cert, err
	}
	return cert, err
}

// iterate finds the multipliers of the rows that have no closed form. It uses the active-set
// method for small problems, and in a metric for problems with up to rescueVariables variables.
// For other problems it uses Newton's method. If Newton's method fails, it continues with the
// active-set method.
func (s *Solver) iterate(v []float64, tol float64, cert *Certificate) (end outcome, residual float64) {
	w, m := s.iter, s.iterated()
	if s.metric != nil && m > 0 && w.n > denseVariables && w.n <= rescueVariables && m <= denseRows {
		status := s.active(v, m)
		cert.Steps = w.steps
		if status == activeset.Infeasible && w.contradicts(m, s.base.len()) {
			return excluded, 0
		}
		w.products(v, m)
		if residual = w.residual(m); residual <= gramTol*s.size {
			return converged, residual
		}
		w.finite(m)
	}
	if m == 0 || w.n > denseVariables || m > denseRows {
		hard := math.IsInf(s.caps, 1)
		contradiction := func() bool { return hard && w.contradicts(m, s.base.len()) }
		residual = w.run(v, m, tol, contradiction)
		cert.Steps, cert.Inner, cert.Outer = w.steps, w.inner, w.outer
		switch {
		case residual <= tol:
			return converged, residual
		case contradiction():
			return excluded, residual
		case w.n > rescueVariables:
			if residual = w.ascend(v, m, fallbackSweeps, tol); residual <= tol {
				return converged, residual
			}
			cert.Steps += fallbackSweeps
			return failed, residual
		}
		w.finite(m)
	}
	status := s.active(v, m)
	cert.Steps += w.steps
	switch {
	case status == activeset.Solved:
		return converged, 0
	case status == activeset.Infeasible && w.contradicts(m, s.base.len()):
		return excluded, 0
	}
	w.products(v, m)
	return failed, w.residual(m)
}

// active runs the active-set method, and creates it on the first call.
func (s *Solver) active(v []float64, m int) activeset.Status {
	if s.small == nil {
		s.small = newDense(s.iter, s.metric != nil)
	}
	return s.small.run(s.iter, v, m, s.base.len(), s.size)
}

// iterated returns the number of rows that need the iteration. This is all rows if a metric or
// a curve couples variables that the rows do not couple.
func (s *Solver) iterated() int {
	if s.iter.apply != nil || s.curves != nil {
		return s.iter.len()
	}
	return s.iter.coupled
}

// limit sets the caps of the multipliers to kappa, relative to the rows as given.
func (s *Solver) limit(kappa float64) {
	if kappa == s.caps {
		return
	}
	s.caps = kappa
	for j, norm := range s.iter.norm {
		s.iter.cap[j] = kappa * norm
	}
}

// At sets the diffusion time at which the Metric is evaluated. Initially the time is 1. At keeps
// the multipliers. If there is no Metric, At does nothing.
func (s *Solver) At(t float64) {
	if s.metric == nil || s.iter.apply != nil && s.time == t {
		return
	}
	s.time = t
	w := s.iter
	// P may be of any size; the iteration wants one of order 1. A vector of
	// fixed signs sees about the mean of the diagonal of P.
	for i := range w.sum {
		w.sum[i] = 1
		if (uint32(i)*0x9E3779B9)>>31 == 1 {
			w.sum[i] = -1
		}
	}
	s.metric(w.pd, w.sum, t)
	s.scale = 1
	if q := simd.Dot64(w.sum, w.pd) / float64(w.n); q > 0 && !math.IsInf(q, 1) {
		_, e := math.Frexp(q)
		s.scale = math.Ldexp(1, min(max(e, -1000), 1000)) // a power of two, so that its inverse is exact
	}
	s.caps = math.NaN()
	if s.small != nil {
		s.small.stale = true
	}
	if w.apply == nil {
		w.apply = func(dst, src []float64) {
			s.metric(dst, src, s.time)
			inverse := 1 / s.scale
			for i := range dst {
				dst[i] *= inverse
			}
		}
	}
}

// Reset sets to zero all multipliers from which the next problem starts.
func (s *Solver) Reset() { clear(s.iter.y) }

// Multipliers stores in y the multipliers of the last solution, one for every inequality of the
// set. They satisfy
//
//	z = v − P·Σ_j y_j·a_j,
//
// where a_j holds the coefficients of row j, and P is the metric (the identity if there is none). A
// positive multiplier belongs to the upper bound. The multipliers of rows without bounds are 0.
// After a contradiction all multipliers are 0. For the multipliers of the soft solution, call
// [Solver.Penalised] with γ = [SoftGamma].
func (s *Solver) Multipliers(y []float64) {
	clear(y)
	w := s.iter
	for j, o := range w.origin {
		y[o] = float64(w.y[j]/w.factor[j]/s.scale) * (1 + s.damped)
	}
}

// clone returns a solver for the same constraint, with all multipliers zero.
func (s *Solver) clone() *Solver {
	var f constraint.Curved
	if s.curves != nil {
		f = s.curves.Curved
	}
	return newSolver(s.base, f, s.metric, s.soften, s.name)
}

// curved solves the problem with curved inequalities. γ determines the penalty of the linear
// rows. The curves have a finite penalty κ, which in the hard form grows until they hold. Each
// step solves the problem with tangents in place of curves and the additional term
// (μ/2)‖z−z_k‖². A step is accepted if it decreases the objective by enough.
func (s *Solver) curved(z, v []float64, gamma, size float64) (cert Certificate, err error) {
	c, w := s.curves, s.iter
	hard := math.IsInf(gamma, 1)
	kappa := gamma / 2
	tol, budget := proxTol*size, math.MaxInt
	if hard {
		kappa = firstKappa
	}
	if s.rough {
		tol, budget = roughTol*size, roughSteps
		if hard {
			kappa = roughKappa
		}
	}
	// Start where the rows hold: the objective compares only such points.
	s.damped = 0
	s.weigh(gamma/2, 0, 0)
	if _, err = s.linear(v, tol); err != nil {
		kappa = lastKappa
	}
	for i, x := range v {
		c.at[i], c.covector[i] = x+w.pc[i], w.c[i]/s.scale
	}
	c.Eval(c.g, c.at)
	for {
		var one Certificate
		one, err = s.tangents(v, gamma/2, kappa, tol, min(proxSteps, budget-cert.Outer))
		cert.Outer += one.Outer
		cert.Steps, cert.Inner = cert.Steps+one.Steps, cert.Inner+one.Inner
		cert.Contradiction = one.Contradiction
		if err != nil || !hard || kappa >= lastKappa || cert.Outer >= budget || s.curves.worst() <= curvedTol {
			break
		}
		kappa *= kappaGrowth
	}
	copy(z, c.at)
	w.certify(&cert, z, s.scale)
	worst := c.worst()
	cert.Violation = 0
	for j := range s.base.len() {
		cert.Violation = max(cert.Violation, w.distance(j, w.dot(j, z))*w.norm[j])
	}
	cert.Violation = max(cert.Violation, worst)
	if err == nil && hard && !(worst <= curvedTol*100) {
		err = &projection.NotConverged{Method: "proximal", Residual: worst, Want: curvedTol * 100, Iterations: cert.Outer}
	}
	return cert, err
}

// tangents iterates for a fixed penalty kappa of the curves, with at most most linearisations.
func (s *Solver) tangents(v []float64, linear, kappa, tol float64, most int) (cert Certificate, err error) {
	c, w := s.curves, s.iter
	mu := 0.0
	merit, _ := s.merit(v, linear, kappa)
	c.linearise(w.slabs)
	for range most {
		cert.Outer++
		part := mu / (1 + mu)
		for i, x := range v {
			c.center[i] = x + float64(part*(c.at[i]-x))
		}
		s.weigh(linear, kappa, mu)
		one, err := s.linear(c.center, tol)
		cert.Steps, cert.Inner = cert.Steps+one.Steps, cert.Inner+one.Inner
		cert.Contradiction = one.Contradiction
		s.damped = mu
		if err != nil {
			for i, x := range c.center {
				c.at[i] = x + w.pc[i]
			}
			c.Eval(c.g, c.at)
			return cert, err
		}
		// From here on next is z_k and at the trial, until the trial fails.
		step := 0.0
		copy(c.next, c.at)
		copy(c.trial, c.g)
		copy(c.grad, c.covector)
		for i, x := range c.center {
			c.at[i] = x + w.pc[i]
			c.covector[i] = w.c[i]/s.scale + float64(part*c.covector[i])
			step = max(step, math.Abs(c.at[i]-c.next[i]))
		}
		c.Eval(c.g, c.at)
		trial, model := s.merit(v, linear, kappa)
		if gain := merit - model; merit-trial >= leastGain*gain || step <= tol {
			merit = trial
			if mu /= damping; mu < 1/damping {
				mu = 0
			}
			if step <= settledStep*tol {
				return cert, nil
			}
			c.linearise(w.slabs)
			continue
		}
		copy(c.at, c.next)
		copy(c.g, c.trial)
		copy(c.covector, c.grad)
		mu = max(1, mu*damping)
	}
	return cert, nil
}

// weigh sets the caps of rows and tangents for a problem with damping μ.
func (s *Solver) weigh(linear, kappa, mu float64) {
	s.caps = math.NaN()
	s.limit(linear / (1 + mu) * s.scale)
	for j := s.base.len(); j < s.iter.len(); j++ {
		s.iter.cap[j] = kappa / (1 + mu) * s.scale * s.iter.norm[j]
	}
}

// merit returns the objective at the present point, and the value of its model, in which
// tangents replace the curves.
func (s *Solver) merit(v []float64, linear, kappa float64) (value, model float64) {
	c, w := s.curves, s.iter
	for i, x := range c.covector {
		value += float64(x * (c.at[i] - v[i]))
	}
	value /= 2
	if !math.IsInf(linear, 1) {
		for j := range s.base.len() {
			value += float64(linear * w.norm[j] * w.distance(j, w.dot(j, c.at)))
		}
	}
	model = value
	for k, g := range c.g {
		j := s.base.len() + k
		value += float64(kappa * max(g, 0))
		model += float64(kappa * w.norm[j] * w.distance(j, w.dot(j, c.at)))
	}
	return value, model
}

package projection

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Solver solves one proximal problem after the other for the same constraint,
// each from the multipliers of the one before. It is not safe for concurrent
// use; clones are, beside each other. Once warm it allocates nothing.
type Solver struct {
	recipe *Proximal
	name   func(row int) string // or nil
	iter   *newton
	curves *curves // or nil

	caps  float64 // γ/2 that the caps are set for, times scale
	scale float64 // of the metric: the iteration works with P/scale
	time  float64 // of the metric
	base  *slabs  // the rows without tangents
	hasty bool    // few linearisations will do
}

// Certificate says how good a solution is. The numbers are computed from the
// solution alone, so they hold whatever the iteration did.
type Certificate struct {
	// Violation is the largest amount by which an inequality fails, in the
	// units of its row.
	Violation float64

	// Gap is the duality gap of the penalty form: the objective at z is at most
	// this much above its minimum, and so ½‖z − z*‖² ≤ Gap. In the hard form it
	// is Σ_j |support_j(y_j) − y_j·t_j|, how far multipliers and slacks are
	// from excluding each other. With curved inequalities it is that of the
	// last linearisation.
	Gap float64

	// Contradiction says that no z satisfies the rows, and that z solves the
	// penalty form with γ = SoftGamma instead.
	Contradiction bool

	// Steps and Inner count the Newton steps and the conjugate gradient steps;
	// Outer counts linearisations.
	Steps, Inner, Outer int
}

// SoftGamma is the weight γ that the rows have in the answer to a
// contradiction, the bound that Narasimhan et al. 2025 put on theirs.
const SoftGamma = 1e5

// Solve stores in z the point of the feasible set that is nearest to v,
//
//	argmin_z ½‖z−v‖²  over  f(z) ≤ 0,
//
// in the metric of the recipe if it has one. z and v may be the same slice.
//
// If the rows exclude each other, the error is a *[ContradictionError], unless
// the recipe says Soften, and z holds the answer of the penalty form with γ =
// [SoftGamma]. If the iteration fails, the error is a *[NotConverged] and z the
// best iterate. A v that is not finite is an error and leaves z alone.
func (s *Solver) Solve(z, v []float64) (Certificate, error) { return s.Penalised(z, v, math.Inf(1)) }

// Penalised stores in z the solution of the penalty form,
//
//	argmin_z ½‖z−v‖² + (γ/2)·Σ_j max(0, f_j(z)),
//
// which is that of Solve for every γ/2 above the largest multiplier of the
// latter. γ ≥ 0; +Inf is Solve.
func (s *Solver) Penalised(z, v []float64, gamma float64) (Certificate, error) {
	n := s.iter.n
	check.Len("projection", "z", len(z), n)
	check.Len("projection", "v", len(v), n)
	if !(gamma >= 0) {
		return Certificate{}, fmt.Errorf("projection: Proximal: γ = %v, want ≥ 0", gamma)
	}
	size := 1.0
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Certificate{}, fmt.Errorf("projection: Proximal: v[%d] = %v, want finite", i, x)
		}
		size = max(size, math.Abs(x))
	}
	s.limit(gamma / 2 * s.scale)
	if s.curves != nil {
		return s.curved(z, v, gamma, size)
	}
	c, err := s.linear(v, proxTol*size)
	for i, x := range v {
		z[i] = x + s.iter.pc[i]
	}
	s.certify(&c, z)
	return c, err
}

// linear finds multipliers for the prediction v; c and pc follow from them.
func (s *Solver) linear(v []float64, tol float64) (cert Certificate, err error) {
	w := s.iter
	m := s.iterated()
	hard := math.IsInf(s.caps, 1)
	contradiction := func() bool { return hard && s.contradicts(m) }
	residual := w.run(v, m, tol, contradiction)
	cert.Steps, cert.Inner, cert.Outer = w.steps, w.inner, w.outer
	excluded := residual > tol && contradiction()
	if !excluded && m < w.len() {
		if excluded = !w.closed(v); excluded {
			clear(w.p[:m])
		}
	}
	switch {
	case excluded:
		if !s.recipe.Soften {
			err = s.explain()
		}
		caps := s.caps
		s.limit(SoftGamma / 2 * s.scale)
		clear(w.y)
		cert, soft := s.linear(v, tol)
		cert.Contradiction = true
		s.limit(caps)
		clear(w.y) // they show no way to anything
		if err == nil {
			err = soft
		}
		return cert, err
	case residual > tol:
		if residual = w.ascend(v, m, fallbackSweeps, tol); !(residual <= tol) {
			err = &NotConverged{"Proximal", residual, tol, w.steps + fallbackSweeps}
		}
		if m < w.len() {
			w.closed(v)
		}
	}
	return cert, err
}

// fallbackSweeps bounds coordinate ascent; a sweep costs as much as a step of
// conjugate gradients on all rows.
const fallbackSweeps = 20000

// iterated returns the number of rows that the iteration is for: all of them
// if something couples variables that the rows do not.
func (s *Solver) iterated() int {
	if s.iter.apply != nil || s.curves != nil {
		return s.iter.len()
	}
	return s.iter.coupled
}

// limit sets the caps of the multipliers to κ per row as it was given.
func (s *Solver) limit(kappa float64) {
	if kappa == s.caps {
		return
	}
	s.caps = kappa
	for j, norm := range s.iter.norm {
		s.iter.cap[j] = kappa * norm
	}
}

// contradicts reports whether p, a change of multipliers, proves that the first
// m rows exclude each other, see [ContradictionError]: no z of norm up to
// farReach satisfies them.
func (s *Solver) contradicts(m int) bool {
	w := s.iter
	slack, total := 0.0, 0.0
	clear(w.sum)
	for j, p := range w.p[:m] {
		if j >= s.base.len() { // tangents exclude nothing
			w.p[j] = 0
			continue
		}
		if p > 0 && math.IsInf(w.hi[j], 1) || p < 0 && math.IsInf(w.lo[j], -1) {
			w.p[j] = 0
		}
		if p := w.p[j]; p != 0 {
			slack -= w.support(j, p)
			total += math.Abs(p)
			w.axpy(j, p, w.sum)
		}
	}
	return slack > leastSlack*total && slack > farReach*math.Sqrt(dot(w.sum, w.sum))
}

const (
	farReach   = 1e6  // in units of data of order 1
	leastSlack = 1e-9 // contradictions below it pass for rounding errors
)

// explain makes an error of the proof in p.
func (s *Solver) explain() error {
	w := s.iter
	e := &ContradictionError{}
	largest := 0.0
	for _, p := range w.p {
		largest = max(largest, math.Abs(p))
	}
	clear(w.sum)
	for j, p := range w.p {
		// Rows that only cancel rounding errors are no part of the story.
		if math.Abs(p) > 1e-6*largest {
			e.Rows = append(e.Rows, int(w.origin[j]))
			e.Multiplier = append(e.Multiplier, p/w.factor[j])
			e.Slack -= w.support(j, p)
			w.axpy(j, p, w.sum)
			if s.name != nil {
				e.Names = append(e.Names, s.name(int(w.origin[j])))
			}
		}
	}
	e.Slope = math.Sqrt(dot(w.sum, w.sum))
	return e
}

// certify measures z, which has just been solved for.
func (s *Solver) certify(c *Certificate, z []float64) {
	w := s.iter
	c.Violation, c.Gap = w.floor, 0
	c.Contradiction = c.Contradiction || w.floor > leastSlack
	for j := range w.len() {
		t := w.dot(j, z)
		far := w.distance(j, t)
		c.Violation = max(c.Violation, far*w.norm[j])
		gap := w.support(j, w.y[j]) - float64(w.y[j]*t)
		if math.IsInf(w.cap[j], 1) {
			gap = math.Abs(gap)
		} else {
			gap += float64(w.cap[j] * far)
		}
		c.Gap += gap / s.scale
	}
}

// Reset forgets the multipliers.
func (s *Solver) Reset() { clear(s.iter.y) }

// Multipliers stores the multipliers of the last solution, by row of the
// system as it was given: z = v − P·Σ_j y_j·a_j. A positive one pulls from the
// upper side. Rows without bounds get 0.
func (s *Solver) Multipliers(y []float64) {
	clear(y)
	w := s.iter
	for j, o := range w.origin {
		y[o] = w.y[j] / w.factor[j] / s.scale
	}
}

// Clone returns a solver for the same constraint, with no multipliers.
func (s *Solver) Clone() *Solver {
	var f constraint.Curved
	if s.curves != nil {
		f = s.curves.Curved
	}
	return s.recipe.solver(s.base, f, s.name)
}

package proximal

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// curves holds smooth inequalities and their linearisation at a point.
type curves struct {
	constraint.Curved
	count    int
	at       []float64 // the point z_k
	covector []float64 // P⁻¹(z_k − v)
	center   []float64
	next     []float64
	g, trial []float64
	grad     []float64
}

func newCurves(n int, f constraint.Curved) *curves {
	k := f.Len()
	cut := make([]float64, 5*n+2*k)
	take := func(n int) []float64 { v := cut[:n:n]; cut = cut[n:]; return v }
	return &curves{
		Curved: f, count: k,
		at: take(n), covector: take(n), center: take(n), next: take(n), grad: take(n), g: take(k), trial: take(k),
	}
}

// extend returns rows followed by one row per curve, with room for all entries.
func (c *curves) extend(rows *slabs) *slabs {
	n, m := rows.n, rows.len()+c.count
	s := *rows
	s.index = append(make([]int32, 0, len(rows.index)+n*c.count), rows.index...)
	s.value = append(make([]float64, 0, cap(s.index)), rows.value...)
	s.start, s.end = append(make([]int32, 0, m), rows.start...), append(make([]int32, 0, m), rows.end...)
	s.lo = append(make([]float64, 0, m), rows.lo...)
	s.hi = append(make([]float64, 0, m), rows.hi...)
	s.norm = append(make([]float64, 0, m), rows.norm...)
	s.factor = append(make([]float64, 0, m), rows.factor...)
	s.origin = append(make([]int32, 0, m), rows.origin...)
	for j := range c.count {
		at := int32(len(s.index))
		s.index, s.value = s.index[:len(s.index)+n], s.value[:len(s.value)+n]
		s.start, s.end, s.origin = append(s.start, at), append(s.end, at), append(s.origin, int32(rows.given+j))
		s.lo, s.hi = append(s.lo, math.Inf(-1)), append(s.hi, math.Inf(1))
		s.norm, s.factor = append(s.norm, 1), append(s.factor, 1)
	}
	return &s
}

// linearise replaces the rows of the curves by the tangents at the present point,
// g_j + ∇g_j·(z − z_k) ≤ 0.
func (c *curves) linearise(s *slabs) {
	first := s.len() - c.count
	for k := range c.count {
		c.Gradient(c.grad, k, c.at)
		norm := math.Sqrt(dot(c.grad, c.grad))
		j := first + k
		s.end[j] = s.start[j]
		if !(norm > 0) { // no direction is better than another
			s.hi[j], s.norm[j], s.factor[j] = math.Inf(1), 1, 1
			continue
		}
		for i, v := range c.grad {
			if v != 0 {
				s.index[s.end[j]], s.value[s.end[j]] = int32(i), v/norm
				s.end[j]++
			}
		}
		s.hi[j], s.norm[j], s.factor[j] = s.dot(j, c.at)-c.g[k]/norm, norm, norm
	}
}

const (
	firstKappa  = 10 // of the curved rows in the hard form, where multipliers are of order 1
	kappaGrowth = 10 // where that does not suffice
	lastKappa   = SoftGamma / 2
	curvedTol   = 1e-9 // of curved rows in the hard form
	proxSteps   = 60   // linearisations per κ
	roughSteps  = 4    // linearisations in all, where a further step of the runner follows
	roughKappa  = 100  // of the curved rows there
	roughTol    = 1e-8 // for data of order 1
	leastGain   = 0.1  // part of the predicted decrease that a step must bring
	damping     = 4    // change of μ
	settledStep = 100  // tolerances that the last step may have
)

// curved solves the problem with curved inequalities: rows are as hard as γ
// says; the curves have a finite κ, which grows in the hard form until they
// hold. Each step solves the problem with tangents in place of curves and
// (μ/2)‖z−z_k‖² on top, and counts if the objective agrees.
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

// worst returns the largest violation of a curve at the present point.
func (c *curves) worst() float64 {
	worst := 0.0
	for _, g := range c.g {
		if !(g <= worst) {
			worst = g
		}
	}
	return worst
}

// tangents iterates for one κ of the curves, at most so many times.
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

// weigh sets the caps of rows and tangents for a problem damped with μ.
func (s *Solver) weigh(linear, kappa, mu float64) {
	s.caps = math.NaN()
	s.limit(linear / (1 + mu) * s.scale)
	for j := s.base.len(); j < s.iter.len(); j++ {
		s.iter.cap[j] = kappa / (1 + mu) * s.scale * s.iter.norm[j]
	}
}

// merit returns the objective at the present point, and its value with the
// tangents in place of the curves.
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

// rounded is a Smooth on float32 where float64 is asked for. It is not safe for
// concurrent use of one value, so that solvers clone it.
type rounded struct{ constraint.Smooth }

// Eval implements constraint.Curved.
func (r rounded) Eval(g, z []float64) { r.Value(g, narrow(z)) }

// Gradient implements constraint.Curved.
func (r rounded) Gradient(dst []float64, j int, z []float64) {
	w := make([]float64, r.Len())
	w[j] = 1
	d := make([]float32, len(z))
	r.Pull(d, narrow(z), w)
	for i, x := range d {
		dst[i] = float64(x)
	}
}

// narrow returns z in float32.
func narrow(z []float64) []float32 {
	v := make([]float32, len(z))
	for i, x := range z {
		v[i] = float32(x)
	}
	return v
}

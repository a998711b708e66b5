package concave

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Func is a smooth concave function on part of λ ≥ 0, or one that is a monotone function of
// a concave one along every line. It returns its value, or −Inf outside its domain. If the
// value is finite, it stores the gradient and minus the Hessian (n × n), which is positive
// semidefinite. It returns +Inf at a point that proves that there is no maximum.
type Func func(lambda, gradient, curvature []float64) float64

// Residuals of a climb, see [Residual]: the one at which it stops, and the one that counts
// as a maximum when rounding allows no better.
const (
	Tolerance = 1e-13
	Accepted  = 1e-10
)

// The limits of a climb and the damping μ of its steps.
const (
	climbSteps = 300   // a dozen or two are usual; a maximum at infinity takes some sixty
	climbFar   = 1e200 // a multiplier that large is infinite for all that follows
	stalled    = 3     // steps without a better residual that end a climb at an accepted one

	firstDamping = 1e-3
	leastDamping = 1e-13 // dependent constraints make curvatures singular
	mostDamping  = 1e15
	easier       = 0.1 // factor of μ after a whole step
	harder       = 8   // and after one that was cut
)

// Unbounded means that a function is proven to have no maximum.
type Unbounded struct{ Lambda, Gradient []float64 }

func (e *Unbounded) Error() string {
	return fmt.Sprintf("dual: no maximum at finite multipliers: at λ = %v the gradient is %v", e.Lambda, e.Gradient)
}

// Top is the end point of an ascent.
type Top struct {
	Lambda   []float64 // the best λ met
	Residual float64   // see [Residual]
	Last     []float64 // the last one, on the way to infinity if there is no maximum
}

// point is a place of a climb with what the function says there.
type point struct {
	lambda, grad, curv []float64
	value              float64
}

func newPoint(n int) *point {
	return &point{make([]float64, n), make([]float64, n), make([]float64, n*n), math.Inf(-1)}
}

// Maximize maximises f from the start over λ_j ≥ 0, or over any λ_j where free is true
// (nil: nowhere). A step goes in the direction of the maximum of the quadratic model of f
// over the multipliers allowed, damped by μ times the curvature's diagonal (Levenberg and
// Marquardt), as far as the slope of f along it stays positive: a bracket on the sign of
// the slope, which rounding of values does not blur, so that no step lands beyond the
// maximum of its line. Units of multipliers do not matter.
//
// It returns the context's error, an error if the start is outside the domain, or an
// [*Unbounded] if f returned +Inf.
func Maximize(ctx context.Context, f Func, start []float64, unit Unit, free []bool) (*Top, error) {
	n := len(start)
	c := &climb{f: f, unit: unit, free: free, at: newPoint(n), next: newPoint(n), low: newPoint(n), q: newQuadrant(free, n, unit.Value), to: make([]float64, n)}
	copy(c.at.lambda, start)
	c.at.value = f(c.at.lambda, c.at.grad, c.at.curv)
	if math.IsInf(c.at.value, -1) || math.IsNaN(c.at.value) {
		return nil, fmt.Errorf("dual: the dual function at the start %v is %v", start, c.at.value)
	}
	top, since := &Top{slices.Clone(start), math.Inf(1), nil}, 0
	mu := firstDamping
	for range climbSteps {
		if err := poll.Err(ctx); err != nil {
			return nil, err
		}
		if math.IsInf(c.at.value, 1) {
			return nil, &Unbounded{c.at.lambda, c.at.grad}
		}
		r := Residual(c.at.lambda, c.at.grad, c.at.curv, unit, free)
		if since++; r < top.Residual {
			copy(top.Lambda, c.at.lambda)
			top.Residual, since = r, 0
		}
		if top.Residual <= Tolerance || top.Residual <= Accepted && since >= stalled {
			break
		}
		ok := c.q.maximize(c.to, c.at.lambda, c.at.grad, c.at.curv, mu)
		for !ok && mu < mostDamping {
			mu *= harder * harder
			ok = c.q.maximize(c.to, c.at.lambda, c.at.grad, c.at.curv, mu)
		}
		if !ok || slices.ContainsFunc(c.to, func(v float64) bool { return !(math.Abs(v) < climbFar) }) {
			break
		}
		t := c.step(r)
		if t >= 1 {
			mu = max(mu*easier, leastDamping)
			continue
		}
		if mu *= harder; mu > mostDamping {
			break
		}
	}
	top.Last = c.at.lambda
	return top, nil
}

// climb is the state of Maximize.
type climb struct {
	f             Func
	unit          Unit
	free          []bool
	q             *quadrant
	to            []float64 // the maximum of the model
	at, next, low *point
}

// The bracket on a line.
const (
	probes = 100 // evaluations of a line
	flat   = 0.5 // slope, relative to the first, that ends a search
	widen  = 4.0 // factor of the first longer or shorter step; it is squared every time
	widest = 1 << 32
	narrow = 16.0 // ratio of a bracket's ends above which its middle is geometric
	closed = 1 + 1e-13
)

// step moves along the line to c.to and returns how far: 1 is all of the way, 0 nowhere.
func (c *climb) step(residual float64) float64 {
	first := c.slope(c.at)
	if !(first > 0) {
		return 0
	}
	most := c.edge()
	lo, hi, t, factor := 0.0, math.Inf(1), 1.0, widen
	for range probes {
		s := c.probe(t)
		if math.IsInf(c.next.value, 1) {
			c.at, c.next = c.next, c.at
			return t
		}
		if residual <= Accepted { // slopes are rounding errors
			c.at, c.next = c.next, c.at
			return 1
		}
		switch {
		case s > flat*first:
			lo = t
			c.low, c.next = c.next, c.low
		case s < -flat*first || s < 0 && first > c.unit.Value && c.next.value < c.at.value:
			hi = t
		default:
			c.at, c.next = c.next, c.at
			return t
		}
		switch {
		case lo >= most || hi <= lo*closed:
			c.at, c.low = c.low, c.at
			return lo
		case math.IsInf(hi, 1):
			t = min(t*factor, most)
			factor = min(factor*factor, widest)
		case lo == 0:
			t = hi / factor
			factor = min(factor*factor, widest)
		case hi > lo*narrow:
			t = math.Sqrt(lo) * math.Sqrt(hi)
		default:
			t = lo + float64((hi-lo)/2)
		}
	}
	if lo == 0 {
		return 0
	}
	c.at, c.low = c.low, c.at
	return lo
}

// slope returns the slope at p along the line.
func (c *climb) slope(p *point) float64 {
	s := 0.0
	for j, v := range c.to {
		if d := v - c.at.lambda[j]; d != 0 {
			s += float64(d * p.grad[j])
		}
	}
	return s
}

// edge returns the largest step at which multipliers are allowed.
func (c *climb) edge() float64 {
	most := math.Inf(1)
	for j, v := range c.to {
		if l := c.at.lambda[j]; v < l && (c.free == nil || !c.free[j]) {
			most = min(most, l/(l-v))
		}
	}
	return max(most, 1)
}

// probe evaluates f at the part t of the line and returns its slope, −Inf outside the
// domain.
func (c *climb) probe(t float64) float64 {
	for j, v := range c.to {
		l := c.at.lambda[j]
		c.next.lambda[j] = l + float64(t*(v-l))
		if t == 1 {
			c.next.lambda[j] = v
		}
		if c.next.lambda[j] < 0 && (c.free == nil || !c.free[j]) {
			c.next.lambda[j] = 0
		}
	}
	c.next.value = c.f(c.next.lambda, c.next.grad, c.next.curv)
	if math.IsInf(c.next.value, -1) || math.IsNaN(c.next.value) {
		return math.Inf(-1)
	}
	return c.slope(c.next)
}

// Unit holds the units in which an ascent judges a function.
type Unit struct {
	Value float64 // differences of values that matter are of this order
	Slope float64 // upper bound on the unit of a gradient, 0 if there is none
}

// Residual returns how far λ is from a maximum: the largest, over multipliers, of the
// gradient that is not pushed against λ ≥ 0 over √(curvature·unit.Value), +Inf where only
// the curvature is 0. For a dual function of means of g_j at a temperature, which is its
// unit, it is the violation in standard deviations of g_j. free marks coordinates without
// a bound, nil none.
func Residual(lambda, grad, curv []float64, unit Unit, free []bool) float64 {
	n, r := len(lambda), 0.0
	for j, g := range grad {
		if lambda[j] > 0 || free != nil && free[j] {
			g = math.Abs(g)
		}
		if g > 0 {
			size := math.Sqrt(curv[j*n+j] * unit.Value)
			if unit.Slope > 0 {
				size = min(size, unit.Slope)
			}
			r = max(r, g/size)
		}
	}
	return r
}

// Within reports whether every constraint holds within tol of its own units: the violation
// is at most 0, and equal to 0 if the multiplier is not 0.
func Within(lambda, violation, unit []float64, tol float64) bool {
	for j, v := range violation {
		if lambda[j] > 0 {
			v = math.Abs(v)
		}
		if !(v <= 0) && !(v <= tol*unit[j]) {
			return false
		}
	}
	return true
}

// Projected returns the largest component of the gradient that is not pushed
// against λ ≥ 0; free marks coordinates without that bound, nil none.
func Projected(lambda, grad []float64, free []bool) float64 {
	r := 0.0
	for j, g := range grad {
		if lambda[j] > 0 || free != nil && free[j] {
			g = math.Abs(g)
		}
		r = max(r, g)
	}
	return r
}

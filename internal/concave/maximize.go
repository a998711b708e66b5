package concave

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Func is a smooth function of multipliers λ, to be maximised over its domain. The domain is the
// set λ ≥ 0 or a part of it. On every line, the function must be concave, or an increasing function
// of a concave function.
//
// A call returns the value at lambda. It returns −Inf outside the domain, and +Inf if lambda proves
// that the function has no maximum. If the value is finite, the call also stores
//
//   - the gradient;
//   - the curvature, which is the negative Hessian (n × n, positive semidefinite);
//   - in size, the scale of each gradient component (see [Residual]).
type Func func(lambda, gradient, curvature, size []float64) float64

// Tolerance and Accepted are thresholds on the [Residual], which measures the distance from a
// maximum. [Maximize] stops when the residual is at most Tolerance. If rounding prevents this, a
// residual of at most Accepted counts as a maximum.
const (
	Tolerance = 1e-13
	Accepted  = 1e-10
)

// Limits of a climb, and values of the damping μ of its steps.
const (
	// largest number of steps; 12 to 24 are usual, and about 60 if the maximum is at infinity
	climbSteps = 300
	climbFar   = 1e200 // multipliers above this are treated as infinite
	// steps without a smaller residual after which a climb with an accepted residual ends
	stalled = 3

	firstDamping = 1e-3 // initial μ
	// smallest μ, above 0 because dependent constraints make curvatures singular
	leastDamping = 1e-13
	mostDamping  = 1e15 // largest μ
	easier       = 0.1  // factor of μ after a full step
	harder       = 8    // factor of μ after a shortened step
)

// Unbounded is the error of Maximize for a function that provably has no maximum. Lambda is the
// point that proves this, and Gradient is the gradient at that point.
type Unbounded struct{ Lambda, Gradient []float64 }

func (e *Unbounded) Error() string {
	return fmt.Sprintf("dual: no maximum at finite multipliers: at λ = %v the gradient is %v", e.Lambda, e.Gradient)
}

// Top is the result of [Maximize].
type Top struct {
	Lambda   []float64 // the best λ found
	Residual float64   // residual at Lambda, see [Residual]
	// the last λ visited; if there is no maximum, it is on the way to infinity
	Last []float64
}

// point is a point λ of a climb with the value, gradient and curvature of the function at λ.
type point struct {
	lambda, grad, curv, size []float64
	value                    float64
}

func newPoint(n int) *point {
	return &point{make([]float64, n), make([]float64, n), make([]float64, n*n), make([]float64, n), math.Inf(-1)}
}

// Maximize maximises f from the given start over λ_j ≥ 0. If signed[j] is true, λ_j may have either
// sign. If signed is nil, no λ_j may be negative. The argument unit is the typical size of a change
// in f that matters. The result does not depend on the units of the multipliers.
//
// Every step goes from the current λ towards the maximum of a quadratic model of f. The curvature
// of the model is increased by μ times its diagonal (Levenberg and Marquardt). A line search in
// this direction brackets the zero of the slope of f. The search ends where the absolute slope is
// at most half of its value at λ.
//
// Maximize returns the error of ctx, an error if the start is outside the domain, or an
// [*Unbounded] if f returned +Inf.
func Maximize(ctx context.Context, f Func, start []float64, unit float64, signed []bool) (*Top, error) {
	n := len(start)
	c := &climb{f: f, unit: unit, free: signed, at: newPoint(n), next: newPoint(n), low: newPoint(n), q: newQuadrant(signed, n, unit), to: make([]float64, n)}
	copy(c.at.lambda, start)
	c.at.value = f(c.at.lambda, c.at.grad, c.at.curv, c.at.size)
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
		r := Residual(c.at.lambda, c.at.grad, c.at.size, signed)
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

// climb is the working state of [Maximize].
type climb struct {
	f             Func
	unit          float64
	free          []bool
	q             *quadrant
	to            []float64 // maximum of the current quadratic model
	at, next, low *point
}

// Settings of the line search that brackets the maximum of a line.
const (
	probes = 100 // largest number of evaluations on one line
	flat   = 0.5 // slope, relative to the slope at the start, below which the search ends
	// factor of the first extension or reduction of the step; it is squared each time
	widen  = 4.0
	widest = 1 << 32 // largest factor of a step
	// ratio of the bracket's ends above which the search takes their geometric mean
	narrow = 16.0
	closed = 1 + 1e-13 // ratio of the bracket's ends below which the search ends
)

// step moves along the line towards c.to and returns the length of the move as a multiple of the
// distance to c.to. A result of 1 or more means that the model was good.
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
		if residual <= Accepted { // slopes are only rounding errors here
			c.at, c.next = c.next, c.at
			return 1
		}
		switch {
		case s > flat*first:
			lo = t
			c.low, c.next = c.next, c.low
		case s < -flat*first || s < 0 && first > c.unit && c.next.value < c.at.value:
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

// slope returns the derivative of f at p along the line from c.at to c.to.
func (c *climb) slope(p *point) float64 {
	s := 0.0
	for j, v := range c.to {
		if d := v - c.at.lambda[j]; d != 0 {
			s += float64(d * p.grad[j])
		}
	}
	return s
}

// edge returns the largest step along the line at which no multiplier violates its sign.
func (c *climb) edge() float64 {
	most := math.Inf(1)
	for j, v := range c.to {
		if l := c.at.lambda[j]; v < l && (c.free == nil || !c.free[j]) {
			most = min(most, l/(l-v))
		}
	}
	return max(most, 1)
}

// probe evaluates f at fraction t of the line from c.at to c.to. It returns the slope along the
// line, or −Inf outside the domain.
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
	c.next.value = c.f(c.next.lambda, c.next.grad, c.next.curv, c.next.size)
	if math.IsInf(c.next.value, -1) || math.IsNaN(c.next.value) {
		return math.Inf(-1)
	}
	return c.slope(c.next)
}

// Residual measures how far λ is from a maximum. It returns the largest absolute value of grad[j] /
// size[j], where 0/0 counts as 0. A component does not count if λ_j is at its bound 0 and the
// component would decrease λ_j. The coordinates with signed[j] = true may be negative. If signed is
// nil, no coordinate may be negative.
//
// The size of a component must be on the scale of its rounding error. If the gradient is the mean
// of functions g_j of a random state, the size is the mean deviation E|g_j − E g_j|. The standard
// deviation is unsuitable, because a rare state with a large g_j dominates it.
func Residual(lambda, grad, size []float64, signed []bool) float64 {
	r := 0.0
	for j, g := range grad {
		if lambda[j] > 0 || signed != nil && signed[j] {
			g = math.Abs(g)
		}
		if g > 0 {
			r = max(r, g/size[j])
		}
	}
	return r
}

// Within reports whether the multipliers λ satisfy the optimality conditions of a problem with
// inequalities. No entry of violation may be positive, and violation[j] must be 0 if λ_j > 0. An
// error of up to tol·unit[j] in condition j is permitted.
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

// Projected returns the largest absolute value of a gradient component. A component does not count
// if λ_j is at its bound 0 and the component would decrease λ_j. The coordinates with signed[j] =
// true may be negative. If signed is nil, no coordinate may be negative.
func Projected(lambda, grad []float64, signed []bool) float64 {
	r := 0.0
	for j, g := range grad {
		if lambda[j] > 0 || signed != nil && signed[j] {
			g = math.Abs(g)
		}
		r = max(r, g)
	}
	return r
}

package concave

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Func is a smooth concave function on part of λ ≥ 0. It returns its value, −Inf outside
// its domain, and if that is finite stores its gradient and minus its Hessian (n × n),
// which is positive semidefinite. It returns +Inf at a point that proves that it has no
// maximum.
type Func func(lambda, gradient, curvature []float64) float64

// Tolerance is the projected gradient at which an exact solver stops, relative
// to the size of what is averaged; λ* is then known to Tolerance over the
// smallest curvature.
const Tolerance = 1e-13

// The limits of a climb and the damping μ of its steps.
const (
	climbSteps = 100   // a dozen or two are usual; problems without a maximum need more
	climbFar   = 1e200 // a multiplier that large is infinite for all that follows

	firstDamping = 1e-3
	leastDamping = 1e-13 // dependent constraints make curvatures singular
	mostDamping  = 1e15
	easier       = 0.1 // factor of μ after a step that did what was predicted
	harder       = 8   // and after one that did not

	valueRounding = 1e-14 // relative error of a dual value, generously
)

// Unbounded is the error of a function whose maximum is not at finite multipliers.
type Unbounded struct{ Lambda, Gradient []float64 }

func (e *Unbounded) Error() string {
	return fmt.Sprintf("dual: no maximum at finite multipliers: at λ = %v the gradient is %v", e.Lambda, e.Gradient)
}

// Maximize maximises f from the start over λ_j ≥ 0, or over any λ_j where free is true
// (nil: nowhere). Every step maximises the quadratic model of f, damped by μ times the
// curvature's diagonal (Levenberg and Marquardt), over the multipliers allowed. The climb
// ends when the projected gradient is below tol in every coordinate, or when no step
// improves f, because of rounding. It returns [*Unbounded] if λ runs away.
func Maximize(ctx context.Context, f Func, start []float64, tol float64, free []bool) ([]float64, error) {
	n := len(start)
	lambda := slices.Clone(start)
	next, grad, ng := make([]float64, n), make([]float64, n), make([]float64, n)
	curv, nc := make([]float64, n*n), make([]float64, n*n)
	value := f(lambda, grad, curv)
	if math.IsInf(value, -1) || math.IsNaN(value) {
		return nil, fmt.Errorf("dual: the dual function at the start %v is %v", start, value)
	}
	q := newQuadrant(free, n)
	mu := firstDamping
	for range climbSteps {
		if err := poll.Err(ctx); err != nil {
			return nil, err
		}
		if math.IsInf(value, 1) {
			return nil, &Unbounded{lambda, grad}
		}
		residual := Projected(lambda, grad, free)
		if residual <= tol {
			return lambda, nil
		}
		gain, ok := q.maximize(next, lambda, grad, curv, mu)
		for !ok && mu < mostDamping {
			mu *= harder * harder
			gain, ok = q.maximize(next, lambda, grad, curv, mu)
		}
		if !ok || slices.ContainsFunc(next, func(v float64) bool { return !(math.Abs(v) < climbFar) }) {
			return nil, &Unbounded{lambda, grad}
		}
		v := f(next, ng, nc)
		// Near the top values are flat to rounding and the gradient decides.
		noise := float64(valueRounding * (1 + math.Abs(value)))
		flat := gain <= noise && math.Abs(v-value) <= 4*noise
		if flat && !(Projected(next, ng, free) < residual) {
			return lambda, nil
		}
		if !flat && !(v-value > 0.1*gain) {
			mu *= harder
			if mu > mostDamping {
				return lambda, nil
			}
			continue
		}
		if flat || v-value > gain/2 {
			mu = max(mu*easier, leastDamping)
		}
		lambda, next, grad, ng, curv, nc, value = next, lambda, ng, grad, nc, curv, v
	}
	return nil, &Unbounded{lambda, grad}
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

package concave

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Func is a smooth concave function on part of λ ≥ 0. It returns its value,
// −Inf outside its domain, and if that is finite stores its gradient and minus
// its Hessian (n × n), which is positive semidefinite.
type Func func(lambda, gradient, curvature []float64) float64

// Tolerance is the projected gradient at which an exact solver stops, relative
// to the size of what is averaged; λ* is then known to Tolerance over the
// smallest curvature.
const Tolerance = 1e-13

// The limits of a climb. Newton's method on these functions needs a dozen steps; the
// limits are for problems without a maximum.
const (
	climbSteps   = 500
	climbHalving = 60
	climbFar     = 1e9 // a multiplier that large is on its way to infinity

	valueRounding = 1e-14 // relative error of a dual value, with room to spare
)

// Unbounded says that the maximum is not at finite multipliers.
type Unbounded struct{ Lambda, Gradient []float64 }

func (e *Unbounded) Error() string {
	return fmt.Sprintf("dual: no maximum at finite multipliers: at λ = %v the gradient is %v", e.Lambda, e.Gradient)
}

// Maximize maximises f over λ ≥ 0 from the start, by Newton's method on the free
// coordinates with backtracking, until the projected gradient is below tol in
// every coordinate, or no step improves f: then rounding is the limit. It
// returns [*Unbounded] if λ runs away.
func Maximize(ctx context.Context, f Func, start []float64, tol float64) ([]float64, error) {
	n := len(start)
	lambda := slices.Clone(start)
	next, grad, ng := make([]float64, n), make([]float64, n), make([]float64, n)
	curv, nc := make([]float64, n*n), make([]float64, n*n)
	value := f(lambda, grad, curv)
	if math.IsInf(value, -1) || math.IsNaN(value) {
		return nil, fmt.Errorf("dual: the dual function at the start %v is %v", start, value)
	}
	for range climbSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if Projected(lambda, grad) <= tol {
			return lambda, nil
		}
		if slices.Max(lambda) > climbFar {
			return nil, &Unbounded{lambda, grad}
		}
		better := false
		for scale, tries := 1.0, 0; tries < climbHalving; scale, tries = scale/2, tries+1 {
			newtonStep(next, lambda, grad, curv, scale)
			v := f(next, ng, nc)
			// Near the top values are flat to rounding and the gradient decides.
			flat := math.Abs(v-value) <= float64(valueRounding*(1+math.Abs(value)))
			if flat && Projected(next, ng) < Projected(lambda, grad) || !flat && v > value {
				lambda, next, grad, ng, curv, nc, value = next, lambda, ng, grad, nc, curv, v
				better = true
				break
			}
		}
		if !better {
			return lambda, nil
		}
	}
	return nil, &Unbounded{lambda, grad}
}

// newtonStep stores in next the point scale of the way to the Newton point of
// the free coordinates, clipped at 0.
func newtonStep(next, lambda, grad, curv []float64, scale float64) {
	n := len(lambda)
	var free []int
	trace := 0.0
	for j, v := range lambda {
		if v > 0 || grad[j] > 0 {
			free = append(free, j)
			trace += curv[j*n+j]
		}
	}
	m := len(free)
	a, d := make([]float64, m*m), make([]float64, m)
	// Relative to the curvature, so that dependent constraints do no harm.
	ridge := float64(1e-14*trace) + math.SmallestNonzeroFloat64
	for p, i := range free {
		for q, j := range free {
			a[p*m+q] = curv[i*n+j]
		}
		a[p*m+p] += ridge
		d[p] = grad[i]
	}
	// A flat direction gives an enormous step: bound it by a multiple of λ.
	largest, reach := 0.0, 1.0
	if !SolvePositive(a, d) {
		largest = math.Inf(1)
	}
	for p, j := range free {
		largest = max(largest, math.Abs(d[p]))
		reach = max(reach, 3*lambda[j])
	}
	if !check.Finite(largest) { // no curvature at all: up the gradient as far as allowed
		largest = 0
		for p, j := range free {
			d[p] = grad[j]
			largest = max(largest, math.Abs(d[p]))
		}
		for p := range d {
			d[p] *= 10 * reach / largest
		}
		largest = 10 * reach
	}
	if largest > 10*reach {
		scale *= 10 * reach / largest
	}
	copy(next, lambda)
	for p, j := range free {
		next[j] = max(0, lambda[j]+float64(scale*d[p]))
	}
}

// Projected returns the largest component of the gradient that is not pushed
// against λ ≥ 0.
func Projected(lambda, grad []float64) float64 {
	r := 0.0
	for j, g := range grad {
		if lambda[j] > 0 {
			g = math.Abs(g)
		}
		r = max(r, g)
	}
	return r
}

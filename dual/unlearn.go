package dual

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Unlearned is the optimum of an unlearning problem.
type Unlearned struct {
	P      []float64 // p_λ*
	Lambda []float64

	// Cost is the objective: KL(p‖q), for ForwardKL KL(q‖p).
	Cost float64

	// Value holds what is bounded: KL(p‖q_i), KL(q_i‖p), E_p[q_i], E_p[r_i] or
	// E_p[log q/q_i].
	Value []float64
}

// CriticalError says that the dual of a reverse-KL problem has no maximum:
// multipliers reach s = 1 with a constraint still violated. On a finite space
// KL(p_λ‖q_i) cannot grow beyond a critical bound: for one law
//
//	b_crit = −log q_u(M),  M = {x : q(x)/q_u(x) is largest}.
//
// (Strong duality needs laws without atoms.) [Unlearning.Global] finds the
// optimum of small problems; [DiscreteSafe] is the formulation without a gap.
type CriticalError struct {
	Bound    []float64 // b
	Critical float64   // b_crit, for one law; for several 0
	Supremum float64   // of the dual function, not attained
	Lambda   []float64 // where the dual approaches it
}

func (e *CriticalError) Error() string {
	if len(e.Bound) == 1 {
		return fmt.Sprintf("dual: reverse-kl: bound = %v, want < b_crit = %v: the dual supremum %v is not attained", e.Bound[0], e.Critical, e.Supremum)
	}
	return fmt.Sprintf("dual: reverse-kl: bounds %v are beyond what any λ reaches: the dual supremum %v is not attained", e.Bound, e.Supremum)
}

// Critical returns b_crit of [CriticalError] for the first law, 0 if it has no
// probability where q has some: then no bound is too large.
func (u *Unlearning) Critical() float64 {
	best, mass := math.Inf(-1), 0.0
	for k, q := range u.q {
		if q == 0 {
			continue
		}
		a := u.away[0][k]
		switch r := math.Log(q / a); {
		case math.IsInf(r, 1):
			return 0
		case math.Abs(r-best) <= ratioRounding:
			mass += a
		case r > best:
			best, mass = r, a
		}
	}
	return -math.Log(mass)
}

// ratioRounding is the difference of log-ratios below which two states count as
// equally far: a few roundings of numbers of the order of 1.
const ratioRounding = 1e-13

// Solve returns the optimum under the bounds b (one per law; ε for the
// likelihood forms), to rounding.
//
// Errors: a formulation that does not suit the laws; a wrong number of bounds
// or one that is not finite; [*CriticalError] for ReverseKL beyond b_crit;
// [*DivergedError] for bounds on means that no law meets, or only laws without
// full support.
func (u *Unlearning) Solve(ctx context.Context, f Formulation, b []float64) (*Unlearned, error) {
	if err := u.check(f); err != nil {
		return nil, err
	}
	if len(b) != len(u.away) {
		return nil, fmt.Errorf("dual: Solve: %v: len(b) = %d, want %d", f, len(b), len(u.away))
	}
	for i, v := range b {
		if !check.Finite(v) {
			return nil, fmt.Errorf("dual: Solve: %v: b[%d] = %v, want a finite number", f, i, v)
		}
	}
	lambda, err := u.multipliers(ctx, f, b)
	if err != nil {
		return nil, err
	}
	return u.at(f, lambda)
}

func (u *Unlearning) multipliers(ctx context.Context, f Formulation, b []float64) ([]float64, error) {
	start := make([]float64, len(b))
	if f != ReverseKL && f != ForwardKL {
		return u.tilt(f, b).solve(ctx, start)
	}
	if c := u.Critical(); f == ReverseKL && len(b) == 1 && c > 0 && b[0] >= c {
		// D(λ) = λb − (1−λ) log Z → b − max log(q/q_u).
		return nil, &CriticalError{b, c, b[0] - u.farthest(), []float64{1}}
	}
	dual := u.dual(f, b)
	lambda, err := climb(ctx, dual, start, solveTol)
	var away *unbounded
	if errors.As(err, &away) {
		lambda, err = away.lambda, nil
	}
	if err != nil {
		return nil, err
	}
	n := len(b)
	grad := make([]float64, n)
	value := dual(lambda, grad, make([]float64, n*n))
	// A stalled climb ends many orders below this.
	if projected(lambda, grad) > 1e-7 {
		return nil, &CriticalError{b, 0, value, lambda}
	}
	return lambda, nil
}

// farthest returns the largest log(q/q_u).
func (u *Unlearning) farthest() float64 {
	best := math.Inf(-1)
	for k, q := range u.q {
		if q > 0 {
			best = max(best, math.Log(q/u.away[0][k]))
		}
	}
	return best
}

// tilt writes a formulation with bounds on means as a tilted law.
func (u *Unlearning) tilt(f Formulation, b []float64) *tilt {
	t := &tilt{beta: 1, n: len(b)}
	g := make([]float64, len(b))
	for k, q := range u.q {
		if q == 0 {
			continue
		}
		for i := range g {
			if f == DiscreteSafe {
				g[i] = b[i] + u.statistic(f, i, k)
			} else {
				g[i] = u.statistic(f, i, k) - b[i]
			}
		}
		t.add(-math.Log(q), g)
	}
	return t
}

// at describes p_λ.
func (u *Unlearning) at(f Formulation, lambda []float64) (*Unlearned, error) {
	p, err := u.Law(f, lambda)
	if err != nil {
		return nil, err
	}
	r := &Unlearned{P: p, Lambda: lambda, Cost: KL(p, u.q), Value: make([]float64, len(lambda))}
	if f == ForwardKL {
		r.Cost = KL(u.q, p)
	}
	for i, a := range u.away {
		switch f {
		case ReverseKL:
			r.Value[i] = KL(p, a)
		case ForwardKL:
			r.Value[i] = KL(a, p)
		default:
			for k, v := range p {
				if v > 0 {
					r.Value[i] += v * u.statistic(f, i, k)
				}
			}
			if f == DiscreteSafe {
				r.Value[i] = -r.Value[i]
			}
		}
	}
	return r, nil
}

// dual returns the dual function of a formulation, with its gradient and
// curvature; see the two below for the formulas.
func (u *Unlearning) dual(f Formulation, b []float64) concave {
	switch f {
	case ReverseKL:
		return u.reverseDual(b)
	case ForwardKL:
		return u.forwardDual(b)
	}
	return u.tilt(f, b).value
}

// reverseDual is D(λ) = λᵀb − (1−s) log Z_λ with the gradient b_i − KL(p_λ‖q_i)
// and the curvature Cov(log p_λ/q_i, log p_λ/q_j)/(1−s).
func (u *Unlearning) reverseDual(b []float64) concave {
	n := len(b)
	l := make([]float64, n)
	return func(lambda, grad, curv []float64) float64 {
		p, err := u.Law(ReverseKL, lambda)
		if err != nil {
			return math.Inf(-1) // s ≥ 1
		}
		c, value := 1.0, 0.0
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(p, u.away[i])
			value += v * grad[i]
		}
		// D is the Lagrangian at its minimum p_λ.
		value += KL(p, u.q)
		clear(curv)
		for k, v := range p {
			if v == 0 {
				continue
			}
			for i, a := range u.away {
				l[i] = math.Log(v/a[k]) - (b[i] - grad[i])
			}
			for i := range n {
				for j := range n {
					curv[i*n+j] += v * l[i] * l[j] / c
				}
			}
		}
		return value
	}
}

// forwardDual is D(λ) = KL(q‖p_λ) + Σλ_i(b_i − KL(q_i‖p_λ)) with the gradient
// b_i − KL(q_i‖p_λ) and the curvature Σ_x q_i q_j/(q − Σλq) − 1/(1−s).
func (u *Unlearning) forwardDual(b []float64) concave {
	n := len(b)
	return func(lambda, grad, curv []float64) float64 {
		p, err := u.Law(ForwardKL, lambda)
		if err != nil {
			return math.Inf(-1)
		}
		c, value := 1.0, KL(u.q, p)
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(u.away[i], p)
			value += v * grad[i]
		}
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return math.Inf(-1) // the edge of the domain
		}
		for i := range n {
			for j := range n {
				curv[i*n+j] = -1 / c
				for k, v := range p {
					if v > 0 {
						curv[i*n+j] += u.away[i][k] * u.away[j][k] / (v * c)
					}
				}
			}
		}
		return value
	}
}

package unlearn

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
)

// Solution is the optimum of an unlearning problem.
type Solution struct {
	P      []float64 // p_λ*
	Lambda []float64

	// Cost is the objective: KL(p‖q), for ForwardKL KL(q‖p).
	Cost float64

	// Value holds the bounded quantities: KL(p‖q_i), KL(q_i‖p), E_p[q_i], E_p[r_i] or
	// E_p[log q/q_i].
	Value []float64
}

// Solve returns the optimum under the bounds b (one per distribution; ε for the
// likelihood forms), to rounding.
//
// Errors: a formulation that does not suit the distributions; a wrong number of bounds
// or one that is not finite; [*CriticalError] for ReverseKL beyond b_crit
// and ForwardKL beyond what float64 resolves;
// [*dual.DivergedError] for bounds on means that no distribution meets, or only distributions without
// full support.
func (u *Problem) Solve(ctx context.Context, f Formulation, b []float64) (*Solution, error) {
	if err := u.check(f); err != nil {
		return nil, err
	}
	if len(b) != len(u.away) {
		return nil, fmt.Errorf("unlearn: Solve: %v: len(b) = %d, want %d", f, len(b), len(u.away))
	}
	for i, v := range b {
		if !check.Finite(v) {
			return nil, fmt.Errorf("unlearn: Solve: %v: b[%d] = %v, want a finite number", f, i, v)
		}
	}
	lambda, err := u.multipliers(ctx, f, b)
	if err != nil {
		return nil, err
	}
	return u.at(f, lambda)
}

func (u *Problem) multipliers(ctx context.Context, f Formulation, b []float64) ([]float64, error) {
	if f != ReverseKL && f != ForwardKL {
		f0, g := u.bounds(f, b)
		s, err := dual.SolveStates(ctx, f0, g, 1)
		if err != nil {
			return nil, err
		}
		return s.Lambda, nil
	}
	if c := u.Critical(); f == ReverseKL && len(b) == 1 && c > 0 && b[0] >= c {
		// D(λ) = λb − (1−λ) log Z → b − max log(q/q_u).
		return nil, &CriticalError{Bound: b, Critical: c, Supremum: b[0] - u.farthest(), Lambda: []float64{1}}
	}
	d := u.dual(f, b)
	n := len(b)
	lambda, err := concave.Maximize(ctx, d, make([]float64, n), concave.Tolerance, nil)
	var away *concave.Unbounded
	if errors.As(err, &away) {
		lambda, err = away.Lambda, nil
	}
	if err != nil {
		return nil, err
	}
	grad := make([]float64, n)
	value := d(lambda, grad, make([]float64, n*n))
	// A stalled climb ends many orders below this.
	if concave.Projected(lambda, grad, nil) > 1e-7 {
		e := &CriticalError{Formulation: f, Bound: b, Supremum: value, Lambda: lambda}
		for i, g := range grad {
			if f == ForwardKL {
				e.Value = append(e.Value, b[i]-g)
			}
		}
		return nil, e
	}
	return lambda, nil
}

// at describes p_λ.
func (u *Problem) at(f Formulation, lambda []float64) (*Solution, error) {
	p, err := u.Law(f, lambda)
	if err != nil {
		return nil, err
	}
	r := &Solution{P: p, Lambda: lambda, Cost: KL(p, u.q), Value: make([]float64, len(lambda))}
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
					r.Value[i] += float64(v * u.statistic(f, i, k))
				}
			}
			if f == DiscreteSafe {
				r.Value[i] = -r.Value[i]
			}
		}
	}
	return r, nil
}

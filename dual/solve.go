package dual

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Solution is the exact optimum of a constrained problem.
type Solution struct {
	Lambda []float64 // optimal multipliers λ*
	// value D(λ*) of the dual function, equal to the optimum of the constrained problem
	Dual      float64
	Violation []float64 // mean violation E[g] at the multipliers λ*; entry j is 0 where λ*_j ≠ 0
	Rows      []Row     // description of each constraint
}

// Solve returns the optimum of the constrained problem that the [Lagrangian] l describes, exact up
// to rounding. Solve maximises the dual function
//
//	D(λ) = −β log Σ_x exp(−(f0(x) + λᵀg(x))/β)
//
// over the multipliers λ, which are ≥ 0 except for equalities. Here f0 is the base energy, g are
// the violations and β is the temperature. After [Lagrangian.Within] the sum is only over the
// sequences of that language. Solve starts from the present multipliers of l and does not change l.
//
// If there are more than 2²² states, the base model and the inequalities must have tables
// ([energy.Factored]). The tables must form a graph of low tree-width.
//
// Solve returns the errors of [SolveStates], and an error in these cases:
//
//   - there are more than 2²² states and no tables, or the tree-width is too large (see package
//     projection/junction);
//   - every state has energy +Inf, or a value is NaN.
func Solve(ctx context.Context, l *Lagrangian) (*Solution, error) {
	if l == nil {
		return nil, fmt.Errorf("dual: Solve: l = nil")
	}
	if countStates(l.sites, l.levels) < 0 {
		f, err := newFactored(ctx, l)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return f.solve(l.lambda)
		}
	}
	t := tilt.New(l.beta, l.Len(), l.equal)
	if err := l.each(ctx, "Solve", t.Append); err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		return nil, fmt.Errorf("dual: Solve: every state has energy +Inf")
	}
	return solve(ctx, t, l.lambda, l.rows)
}

// SolveStates returns the optimal distribution on a list of states under constraints on means,
// exact up to rounding. State k has the energy f0[k] and the quantities h[k·m], …, h[k·m+m−1]. The
// argument beta is the temperature. The entry rows[j] is the constraint on the mean of quantity j;
// if rows is nil, every mean must be at most 0. If the states are a sample and f0 is 0, the optimum
// gives weights under which the sample satisfies the constraints.
//
// SolveStates returns an error in these cases:
//
//   - there are no states;
//   - len(h) is not m·len(f0) for a whole number m ≥ 1, or len(rows) ≠ m;
//   - a number is not finite, or beta is not positive.
//
// If no distribution satisfies the constraints, the error is a [*DivergedError] in which Proven is
// true. This error wraps constraint.ErrInfeasible. If every distribution that satisfies the
// constraints gives probability 0 to some state, the error is a *DivergedError with Proven false
// and Margin 0.
func SolveStates(ctx context.Context, f0, h []float64, beta float64, rows []Row) (*Solution, error) {
	if len(f0) == 0 || len(h) == 0 || len(h)%len(f0) != 0 {
		return nil, fmt.Errorf("dual: SolveStates: len(f0) = %d and len(h) = %d, want ≥ 1 and a positive multiple of it", len(f0), len(h))
	}
	if !(beta > 0) || !check.Finite(beta) {
		return nil, fmt.Errorf("dual: SolveStates: beta = %v, want 0 < beta < ∞", beta)
	}
	m := len(h) / len(f0)
	if rows == nil {
		rows = make([]Row, m)
	}
	if err := cmp.Or(check.If(len(rows) != m, "dual: SolveStates: len(rows) = %d, want %d", len(rows), m), checkRows(rows)); err != nil {
		return nil, err
	}
	t := tilt.New(beta, m, equalities(rows))
	g := make([]float64, m)
	for k, e := range f0 {
		values := h[k*m : (k+1)*m]
		if !check.Finite(e) || !check.AllFinite(values) {
			return nil, fmt.Errorf("dual: SolveStates: state %d has energy %v and values %v, want finite numbers", k, e, values)
		}
		for j, v := range values {
			g[j] = rows[j].violation(v)
		}
		t.Append(e, g)
	}
	return solve(ctx, t, make([]float64, m), slices.Clone(rows))
}

// UndecidedError reports that a search for multipliers found neither an optimum nor a proof that
// none exists. Its best multipliers miss the optimality conditions by more than rounding errors.
type UndecidedError struct {
	Lambda    []float64 // the best multipliers found
	Violation []float64 // mean violation E[g] at Lambda
	// mean absolute deviation E|g − E[g]| of each violation g, or a similar scale; deviations from
	// the optimality conditions are measured in this unit
	Deviation []float64
	Rows      []Row // description of each constraint
}

func (e *UndecidedError) Error() string {
	var parts []string
	for j, v := range e.Violation {
		r := Row{}
		if j < len(e.Rows) {
			r = e.Rows[j]
		}
		parts = append(parts, fmt.Sprintf("%s: mean %s, mean deviation %.4g, want %s, at λ = %.6g", r.label(j), estimate(r.value(v), e.Deviation[j]), e.Deviation[j], r.limit(), e.Lambda[j]))
	}
	return "dual: neither an optimum nor a proof that there is none: " + shortened(parts, "; ") + ": loosen the constraints a little, or rescale them"
}

// solve returns the optimum over the distributions on the states of t. The search begins at the
// multipliers start.
func solve(ctx context.Context, t *tilt.List, start []float64, rows []Row) (*Solution, error) {
	o, err := t.Maximize(ctx, start)
	if err != nil {
		return nil, err
	}
	if o.Outcome == tilt.Infeasible || o.Outcome == tilt.Limit {
		return nil, &DivergedError{Lambda: o.Lambda, Direction: o.Direction, Margin: o.Margin, Steps: 1, Proven: o.Outcome == tilt.Infeasible, Rows: rows}
	}
	n := len(start)
	s := &Solution{Lambda: o.Lambda, Violation: make([]float64, n), Rows: rows}
	size := make([]float64, n)
	s.Dual = t.Value(o.Lambda, s.Violation, make([]float64, n*n), size)
	if o.Outcome != tilt.Attained {
		return nil, &UndecidedError{Lambda: o.Lambda, Violation: s.Violation, Deviation: size, Rows: rows}
	}
	return s, nil
}

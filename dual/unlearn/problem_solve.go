package unlearn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
)

// Solution is the optimum of an unlearning problem.
type Solution struct {
	P      []float64 // p_λ*
	Lambda []float64

	// Cost is the objective: KL(q‖p) for ForwardKL, and KL(p‖q) otherwise.
	Cost float64

	// Value holds the bounded quantities: KL(p‖q_i), KL(q_i‖p), E_p[q_i], E_p[r_i] or
	// E_p[log q/q_i].
	Value []float64
}

// Solve returns the optimum under the bounds b, exact up to rounding. There is one bound
// per distribution, ε_i for the likelihood forms and b_i for the others.
//
// It returns an error if the formulation does not suit the distributions, if the number of
// bounds is wrong, or if a bound is not finite. The error is a [*CriticalError] if
// ReverseKL is proven to have no multipliers with Σλ ≤ 1 − 10⁻⁵, or if those of ForwardKL
// would be so close to the edge that rounding of λ blurs the divergences. It is a
// [*dual.DivergedError] if bounds on means are satisfied by no distribution, or only by
// distributions without full support; a [*dual.UndecidedError] if the problem is neither
// solved nor proven to have no solution; or a [*TailError].
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
	for i, k := range u.tails {
		if f == ForwardKL && k > mostShape {
			return nil, &TailError{f, i, k}
		}
	}
	lambda, err := u.multipliers(ctx, f, b)
	if err != nil {
		return nil, err
	}
	for i, k := range u.tails {
		// With λ_i > 0 p_λ cuts the tail off; without, the mean is that of the sample.
		if lambda[i] == 0 && k > mostShape {
			return nil, &TailError{f, i, k}
		}
	}
	s, err := u.at(f, lambda)
	if err == nil {
		s.Lambda = u.scaled(f, lambda, false)
	}
	return s, err
}

func (u *Problem) multipliers(ctx context.Context, f Formulation, b []float64) ([]float64, error) {
	if f != ReverseKL && f != ForwardKL {
		f0, g := u.bounds(f, b)
		s, err := dual.SolveStates(ctx, f0, g, 1, nil)
		if err != nil {
			return nil, err
		}
		return s.Lambda, nil
	}
	if f == ReverseKL {
		return u.reverse(ctx, b)
	}
	return u.forward(ctx, b)
}

// settled is the difference from a bound, in its own unit, that rounding may leave at a
// solution.
const settled = 1e-9

// nats is the same relative to a bound, or one nat.
const nats = 1e-7

// reverse returns the multipliers of ReverseKL.
func (u *Problem) reverse(ctx context.Context, b []float64) ([]float64, error) {
	if c := u.Critical(); len(b) == 1 && c > 0 && b[0] >= c {
		// D(λ) = λb − (1−λ) log Z → b − max log(q/q_u).
		return nil, &CriticalError{Bound: b, Critical: c, Supremum: b[0] - u.farthest(), Lambda: []float64{1}}
	}
	top, err := concave.Maximize(ctx, u.reverseLines(b), make([]float64, len(b)), concave.Unit{Value: 1}, nil)
	if err != nil {
		return nil, err
	}
	lambda := fromNatural(top.Lambda)
	violation, deviation := u.reverseViolation(lambda, b)
	if concave.Within(lambda, violation, deviation, settled) {
		return lambda, nil
	}
	// The best of the multipliers with Σλ = 1 − 10⁻⁷.
	far, err := u.slice(ctx, b, top.Last)
	if err != nil {
		return nil, err
	}
	// D(λ') ≤ KL(p‖q) + Σλ'_i h_i ≤ KL(p‖q) + s'·max h for every λ' and any p, and at the
	// optimum D(λ') ≥ D(λ) = KL(p‖q) + λᵀh: that needs s' ≥ λᵀh/max h.
	h, _ := u.reverseViolation(far, b)
	value, most := 0.0, 0.0
	for i, v := range h {
		value += float64(far[i] * v)
		most = max(most, v)
	}
	if most > sure && value >= most*(1-edge) {
		p, err := u.Law(ReverseKL, far)
		if err != nil {
			return nil, err
		}
		return nil, &CriticalError{Bound: b, Supremum: KL(p, u.q) + most, Lambda: far}
	}
	return nil, &dual.UndecidedError{Lambda: lambda, Violation: violation, Deviation: deviation}
}

// edge is how near to s = 1 the multipliers of a solution would have to be where there is
// proven to be none.
const edge = 1e-5

// sure is the least violation at the edge that rounding there does not explain.
const sure = 0.005

// slice returns the multipliers at which D is largest among those with Σμ = mostNatural,
// from a start elsewhere.
func (u *Problem) slice(ctx context.Context, b, start []float64) ([]float64, error) {
	n, lead, sum := len(b), 0, 0.0
	for i, v := range start {
		sum += v
		if v > start[lead] {
			lead = i
		}
	}
	mu, full, square := make([]float64, n), make([]float64, n), make([]float64, n*n)
	complete := func(others []float64) bool {
		mu[lead] = mostNatural
		for i, at := 0, 0; i < n; i++ {
			if i != lead {
				mu[i] = others[at]
				mu[lead] -= mu[i]
				at++
			}
		}
		return mu[lead] >= 0
	}
	d := u.reverseLines(b)
	f := func(others, grad, curv []float64) float64 {
		if !complete(others) {
			return math.Inf(-1)
		}
		v := d(mu, full, square)
		for i, x := 0, 0; i < n; i++ {
			if i == lead {
				continue
			}
			grad[x] = full[i] - full[lead]
			for j, y := 0, 0; j < n; j++ {
				if j != lead {
					curv[x*(n-1)+y] = square[i*n+j] - square[i*n+lead] - square[lead*n+j] + square[lead*n+lead]
					y++
				}
			}
			x++
		}
		return v
	}
	from := make([]float64, 0, n)
	for i, v := range start {
		if i != lead && sum > 0 {
			from = append(from, v/sum*mostNatural)
		}
	}
	if len(from) == n-1 && n > 1 {
		top, err := concave.Maximize(ctx, f, from, concave.Unit{Value: 1}, nil)
		if err != nil {
			return nil, err
		}
		from = top.Lambda
	}
	complete(append(from, make([]float64, n)...))
	return fromNatural(mu), nil
}

// reverseViolation returns b_i − KL(p‖q_i) and the standard deviations of log(p/q_i).
func (u *Problem) reverseViolation(lambda, b []float64) (violation, deviation []float64) {
	n := len(b)
	violation, deviation = make([]float64, n), make([]float64, n)
	curv := make([]float64, n*n)
	u.reverseDual(b)(lambda, violation, curv)
	c := 1.0
	for _, v := range lambda {
		c -= v
	}
	for i := range n {
		deviation[i] = math.Sqrt(max(0, curv[i*n+i]*c)) // of roundings, where q_i is q
	}
	return violation, deviation
}

// forward returns the multipliers of ForwardKL.
func (u *Problem) forward(ctx context.Context, b []float64) ([]float64, error) {
	n := len(b)
	d := u.dual(ForwardKL, b)
	top, err := concave.Maximize(ctx, d, make([]float64, n), concave.Unit{Value: 1, Slope: nats / settled}, nil)
	if err != nil {
		return nil, err
	}
	grad, curv := make([]float64, n), make([]float64, n*n)
	d(top.Lambda, grad, curv)
	// In standard deviations of q_i/p, but near the edge, where these grow without bound,
	// in nats.
	unit, c := make([]float64, n), 1.0
	for _, v := range top.Lambda {
		c -= v
	}
	for i, v := range b {
		unit[i] = min(math.Sqrt(max(0, curv[i*n+i]*c)), nats/settled*max(1, math.Abs(v)))
	}
	if concave.Within(top.Lambda, grad, unit, settled) {
		return top.Lambda, nil
	}
	for _, lambda := range [][]float64{top.Lambda, top.Last} {
		blur := u.blur(lambda)
		if !slices.ContainsFunc(blur, func(v float64) bool { return !(v < nats/10) }) {
			continue
		}
		e := &CriticalError{Formulation: ForwardKL, Bound: b, Supremum: d(lambda, grad, curv), Lambda: lambda, Blur: blur}
		for i, g := range grad {
			e.Value = append(e.Value, b[i]-g)
		}
		return nil, e
	}
	return nil, &dual.UndecidedError{Lambda: top.Lambda, Violation: grad, Deviation: unit}
}

// blur returns by how much rounding of λ, by which q − Σλ_i q_i is off by 2⁻⁵³q, moves every
// KL(q_i‖p_λ). A tenth of the smallest difference from a bound that counts is too much.
func (u *Problem) blur(lambda []float64) []float64 {
	blur := make([]float64, len(u.away))
	for i, a := range u.away {
		for k, v := range a {
			if v == 0 {
				continue
			}
			if rest := u.rest(lambda, k); rest > 0 {
				blur[i] += float64(v * (0x1p-53 * u.q[k] / rest))
			} else {
				blur[i] = math.Inf(1)
			}
		}
	}
	return blur
}

// at describes p_λ.
func (u *Problem) at(f Formulation, lambda []float64) (*Solution, error) {
	p, err := u.law(f, lambda)
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

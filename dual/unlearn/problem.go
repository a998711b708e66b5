package unlearn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Problem is an unlearning problem on a finite space. It consists of an original distribution q and
// unwanted distributions q_i. It is immutable and safe for concurrent use.
type Problem struct {
	q    []float64
	away [][]float64

	ratios [][]float64 // original ratios of FromRatios; nil for other problems
	scale  []float64   // means of the original ratios
	tails  []float64   // tail shapes of the original ratios
}

// sumSlack is the largest difference of a sum of probabilities from 1 that counts as rounding.
// Distributions are then normalised.
const sumSlack = 1e-9

// New returns the problem of moving q away from the given distributions. Each distribution holds
// one probability per state. New copies the distributions. New returns an error unless all
// distributions have the same length and consist of numbers ≥ 0 that sum to 1 within 10⁻⁹.
//
// Formulations have further conditions. ReverseKL and DiscreteSafe need q_i > 0 wherever q > 0.
// ForwardKL and LikelihoodRatio need q > 0 wherever q_i > 0.
func New(q []float64, away ...[]float64) (*Problem, error) {
	if len(away) == 0 {
		return nil, fmt.Errorf("unlearn: New: no distribution to move away from")
	}
	u := &Problem{away: make([][]float64, len(away))}
	var err error
	if u.q, err = checkDistribution("q", q, len(q)); err != nil {
		return nil, err
	}
	for i, a := range away {
		if u.away[i], err = checkDistribution(fmt.Sprintf("away[%d]", i), a, len(q)); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// FromRatios returns the problem on a sample x_1, x_2, … from the original distribution q. All x_k
// have equal weight. The distributions q_i are given by ratios[i][k] = q_i(x_k)/q(x_k). Solving the
// problem gives the multipliers λ for ForwardKL and LikelihoodRatio. This needs no samples from the
// optimum p_λ (the dual-only algorithm). Afterwards [Rejection] can draw from p_λ.
//
// Multipliers and bounds refer to the given ratios, as in [AcceptForward] and [AcceptLikelihood].
// For ForwardKL, the largest ratios are smoothed. [Problem.Tails] shows whether the sample is large
// enough to determine the mean of the ratios.
//
// FromRatios returns an error unless every distribution has the same number of ratios. Ratios
// must be ≥ 0, and the mean ratio of every distribution must be positive and finite.
func FromRatios(ratios ...[]float64) (*Problem, error) {
	if len(ratios) == 0 || len(ratios[0]) == 0 {
		return nil, fmt.Errorf("unlearn: FromRatios: no ratios")
	}
	n := len(ratios[0])
	u := &Problem{q: make([]float64, n)}
	for k := range u.q {
		u.q[k] = 1 / float64(n)
	}
	for i, r := range ratios {
		if len(r) != n {
			return nil, fmt.Errorf("unlearn: FromRatios: len(ratios[%d]) = %d, want %d, that of ratios[0]", i, len(r), n)
		}
		sum := 0.0
		for k, v := range r {
			if !(v >= 0) {
				return nil, fmt.Errorf("unlearn: FromRatios: ratios[%d][%d] = %v, want ≥ 0", i, k, v)
			}
			sum += v
		}
		if !(sum > 0) || !check.Finite(sum) {
			return nil, fmt.Errorf("unlearn: FromRatios: ratios[%d] sum to %v, want a positive number", i, sum)
		}
		a := slices.Clone(r)
		u.tails = append(u.tails, tail(a))
		sum = 0
		for _, v := range a {
			sum += v
		}
		for k := range a {
			a[k] /= sum
		}
		u.away = append(u.away, a)
		u.ratios = append(u.ratios, slices.Clone(r))
		u.scale = append(u.scale, sum/float64(n))
	}
	return u, nil
}

// Tails returns one tail shape k̂ for every distribution of a problem from [FromRatios], and nil
// for other problems. It is the shape of a generalised Pareto distribution fitted to the largest
// ratios. It is −Inf if the largest values are equal or if there are fewer than 25 ratios.
//
// If k̂ ≤ 0.5, the sample determines the mean of the ratios well. Up to 0.7, the mean is still
// usable. For larger k̂, [Problem.Solve] returns a [*TailError] if its result depends on that mean.
func (u *Problem) Tails() []float64 { return slices.Clone(u.tails) }

// checkDistribution returns a normalised copy of p, or an error if p is not a distribution on n
// states.
func checkDistribution(name string, p []float64, n int) ([]float64, error) {
	if len(p) != n || n == 0 {
		return nil, fmt.Errorf("unlearn: New: len(%s) = %d, want %d ≥ 1", name, len(p), n)
	}
	sum := 0.0
	for k, v := range p {
		if !(v >= 0) {
			return nil, fmt.Errorf("unlearn: New: %s[%d] = %v, want ≥ 0", name, k, v)
		}
		sum += v
	}
	if !(math.Abs(sum-1) <= sumSlack) {
		return nil, fmt.Errorf("unlearn: New: %s sums to %v, want 1", name, sum)
	}
	c := make([]float64, n)
	for k, v := range p {
		c[k] = v / sum
	}
	return c, nil
}

// check returns an error if the distributions do not satisfy the conditions of the formulation.
func (u *Problem) check(f Formulation) error {
	for i, a := range u.away {
		for k, v := range a {
			switch f {
			case ReverseKL, DiscreteSafe:
				if v == 0 && u.q[k] > 0 {
					return fmt.Errorf("unlearn: %v: distribution %d has no probability at state %d, want some, as q = %v there: mix it with a little of q", f, i, k, u.q[k])
				}
			case ForwardKL, LikelihoodRatio:
				if v > 0 && u.q[k] == 0 {
					return fmt.Errorf("unlearn: %v: q has no probability at state %d, want some, as distribution %d has %v there: mix q with a little of it", f, k, i, v)
				}
			case Likelihood:
			default:
				return fmt.Errorf("unlearn: formulation = %v, want one that is named", f)
			}
		}
	}
	return nil
}

// Law returns the distribution p_λ of a formulation at the multipliers lambda. It returns an error
// if the distributions do not satisfy the conditions of the formulation (see [New]). The slice
// lambda must hold one finite λ_i ≥ 0 per distribution. It is also an error if p_λ is not a
// distribution. This occurs for ReverseKL and ForwardKL if Σλ ≥ 1, and for ForwardKL if a
// probability would be negative.
func (u *Problem) Law(f Formulation, lambda []float64) ([]float64, error) {
	if err := u.check(f); err != nil {
		return nil, err
	}
	if len(lambda) != len(u.away) {
		return nil, fmt.Errorf("unlearn: Law: len(lambda) = %d, want %d", len(lambda), len(u.away))
	}
	for i, v := range lambda {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("unlearn: Law: lambda[%d] = %v, want a finite number ≥ 0", i, v)
		}
	}
	return u.law(f, u.scaled(f, lambda, true))
}

// scaled converts multipliers for ratios of mean 1 to multipliers for the ratios as given. If
// back is true, it converts in the other direction. Only ForwardKL depends on the scale.
func (u *Problem) scaled(f Formulation, lambda []float64, back bool) []float64 {
	if f != ForwardKL || u.scale == nil {
		return lambda
	}
	l := slices.Clone(lambda)
	for i, c := range u.scale {
		if back {
			l[i] *= c
		} else {
			l[i] /= c
		}
	}
	return l
}

// law returns the distribution p_λ for valid multipliers that refer to ratios of mean 1.
func (u *Problem) law(f Formulation, lambda []float64) ([]float64, error) {
	s := 0.0
	for _, v := range lambda {
		s += v
	}
	if (f == ReverseKL || f == ForwardKL) && !(s < 1) {
		return nil, fmt.Errorf("unlearn: Law: %v: lambda sums to %v, want < 1", f, s)
	}
	p := make([]float64, len(u.q))
	if f == ForwardKL {
		for k, q := range u.q {
			p[k] = u.rest(lambda, k) / (1 - s)
			if p[k] < 0 {
				return nil, fmt.Errorf("unlearn: Law: %v: q − Σλq_i = %v at state %d, want ≥ 0 where q = %v", f, p[k]*(1-s), k, q)
			}
		}
		return p, nil
	}
	for k, q := range u.q {
		if p[k] = simd.Log(q); q == 0 {
			continue
		}
		switch f {
		case ReverseKL, DiscreteSafe:
			for i, a := range u.away {
				l := lambda[i]
				if f == ReverseKL {
					l /= 1 - s
				}
				p[k] += float64(l * simd.Log(q/a[k]))
			}
		default:
			for i, l := range lambda {
				p[k] -= float64(l * u.statistic(f, i, k))
			}
		}
	}
	tilt.Normalize(p)
	return p, nil
}

// rest returns q − Σλ_i q_i at state k.
func (u *Problem) rest(lambda []float64, k int) float64 {
	v := u.q[k]
	for i, l := range lambda {
		v -= float64(l * u.away[i][k])
	}
	return v
}

// statistic returns the value at state k of the function whose mean the formulation bounds for
// distribution i.
func (u *Problem) statistic(f Formulation, i, k int) float64 {
	switch a := u.away[i][k]; f {
	case Likelihood:
		return a
	case LikelihoodRatio:
		if u.ratios != nil {
			return u.ratios[i][k]
		}
		return a / u.q[k]
	default: // DiscreteSafe
		return simd.Log(a / u.q[k])
	}
}

// KL returns the divergence KL(p‖q) = Σ p log(p/q) in nats. It is +Inf if p > 0 at a state where
// q = 0. KL panics if the lengths differ.
func KL(p, q []float64) float64 {
	check.Len("unlearn", "q", len(q), len(p))
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += float64(v * simd.Log(v/q[k]))
		}
	}
	return max(sum, 0) // rounding errors may make the sum negative
}

// Formulation is a precise form of the problem "stay close to q, away from q_1 … q_m" (Khalafi,
// Ribeiro and Ding 2026). It is a constrained minimisation over distributions p. The optimum is
// p_λ, where λ_i is the multiplier of the constraint on q_i.
type Formulation int

const (
	// ReverseKL minimises KL(p‖q), where q is the original distribution. The constraints are
	// KL(p‖q_i) ≥ b_i, where the q_i are the unwanted distributions. With the multipliers λ_i, the
	// optimum is
	//
	//	p_λ ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)},  s = Σλ_i < 1.
	//
	// The constraints are not convex, so on finite spaces there may be no such λ. See
	// [CriticalError] and [DiscreteSafe].
	ReverseKL Formulation = iota

	// ForwardKL minimises KL(q‖p), where q is the original distribution. The constraints are
	// KL(q_i‖p) ≥ b_i, where the q_i are the unwanted distributions. With the multipliers λ_i, the
	// optimum is
	//
	//	p_λ = (q − Σλ_i q_i)/(1−s),  s = Σλ_i,
	//
	// if that is a distribution.
	ForwardKL

	// Likelihood minimises KL(p‖q), where q is the original distribution. The constraints bound the
	// mean likelihoods E_p[q_i] ≤ ε_i of the unwanted distributions q_i. With the multipliers λ_i,
	// the optimum is
	//
	//	p_λ ∝ q·exp(−Σλ_i q_i).
	Likelihood

	// LikelihoodRatio minimises KL(p‖q), where q is the original distribution. The constraints are
	// E_p[r_i] ≤ ε_i for the ratios r_i = q_i/q, where the q_i are the unwanted distributions. With
	// the multipliers λ_i, the optimum is
	//
	//	p_λ ∝ q·exp(−Σλ_i r_i).
	//
	// The optimum does not depend on the reference measure of the densities. Before unlearning,
	// E_q[r_i] is 1.
	LikelihoodRatio

	// DiscreteSafe minimises KL(p‖q), where q is the original distribution. The constraints are
	// E_p[log q/q_i] ≥ b_i, where the q_i are the unwanted distributions. With the multipliers λ_i,
	// the optimum is
	//
	//	p_λ ∝ q^{1+s} ∏ q_i^{−λ_i},  s = Σλ_i.
	//
	// ReverseKL gives the same distributions at the multipliers λ/(1+s). The constraints of
	// DiscreteSafe are linear in p, unlike those of ReverseKL. On any space, the optimal λ exists
	// if some distribution satisfies the bounds strictly.
	DiscreteSafe
)

// String returns the name of the formulation in lower case with hyphens, such as "reverse-kl".
func (f Formulation) String() string {
	return check.Name("Formulation", f, "reverse-kl", "forward-kl", "likelihood", "likelihood-ratio", "discrete-safe")
}

// MarshalText returns the result of String as bytes. It implements encoding.TextMarshaler.
func (f Formulation) MarshalText() ([]byte, error) {
	return check.MarshalName("formulation", f, DiscreteSafe)
}

// UnmarshalText sets f to the formulation with the given name, as String returns it. It implements
// encoding.TextUnmarshaler.
func (f *Formulation) UnmarshalText(name []byte) error {
	return check.UnmarshalName("formulation", f, DiscreteSafe, name)
}

// Ascend moves the multipliers of a formulation by n steps of a rule (see [dual.Rule]), with the
// exact gradient and curvature of the dual function. It returns an array of n × len(b) with the
// multipliers after each step. The multipliers approach the optimum of [Problem.Solve].
//
// The bounds b are as in Solve. A nil rule means [dual.Auto], and a nil start means zeros. Every
// multiplier stays within [0, limit]; +Inf means no limit. For ReverseKL this limit must keep the
// sum of the multipliers below 1, and +Inf means 0.99.
//
// Ascend returns the error of ctx or of the rule. It also returns the error of [Problem.Law] if no
// distribution exists at the multipliers of a step.
func (u *Problem) Ascend(ctx context.Context, f Formulation, b []float64, rule dual.Rule, start []float64, limit float64, n int) ([]float64, error) {
	if err := u.check(f); err != nil {
		return nil, err
	}
	m := len(u.away)
	if start == nil {
		start = make([]float64, m)
	}
	if len(b) != m || len(start) != m {
		return nil, fmt.Errorf("unlearn: Ascend: len(b) = %d and len(start) = %d, want %d", len(b), len(start), m)
	}
	if rule == nil {
		rule = dual.Auto{}
	}
	updater, err := rule.Bind(ctx, m)
	if err != nil {
		return nil, err
	}
	if !(limit >= 0) {
		return nil, fmt.Errorf("unlearn: Ascend: limit = %v, want ≥ 0", limit)
	}
	if f == ReverseKL && math.IsInf(limit, 1) {
		limit = reverseMax
	}
	d := u.dual(f, b)
	lambda := append([]float64(nil), u.scaled(f, start, true)...)
	batch := dual.Batch{States: len(u.q), Beta: 1, Mean: make([]float64, m), Cov: make([]float64, m*m), Max: limit}
	size, path := make([]float64, m), make([]float64, 0, n*m)
	for batch.Step = range n {
		if err := poll.Err(ctx); err != nil {
			return path, err
		}
		if v := d(lambda, batch.Mean, batch.Cov, size); !check.Finite(v) {
			return path, fmt.Errorf("unlearn: Ascend: step %d: %v has no distribution at λ = %v", batch.Step, f, lambda)
		}
		if err := updater.Update(lambda, &batch); err != nil {
			return path, err
		}
		path = append(path, u.scaled(f, lambda, false)...)
	}
	return path, nil
}

// reverseMax is the default bound on a multiplier of ReverseKL. It keeps a single multiplier away
// from s = Σλ_i = 1, where the distribution freezes.
const reverseMax = 0.99

// CriticalError reports that no multipliers were found for the bounds of a ReverseKL or ForwardKL
// problem.
//
// For ReverseKL, the multipliers reach s = Σλ_i = 1 while a constraint is still violated. On a
// finite space this happens if a bound reaches a critical value. If q_1 is the only unwanted
// distribution, this value is
//
//	b_crit = −log q_1(M),  M = {x : q(x)/q_1(x) is largest}.
//
// [Problem.Global] finds the optimum of small problems. [DiscreteSafe] is a formulation without
// such a limit.
//
// For ForwardKL, KL(q_i‖p_λ) grows very slowly as λ approaches the edge of the allowed region,
// where q − Σλ_i q_i = 0 at some state. For bounds beyond some value, no float64 is close enough to
// this edge. The field Blur measures this effect. At the multipliers Lambda, a change of λ by 2⁻⁵³
// changes some divergence by 10⁻⁸ nats or more.
type CriticalError struct {
	Formulation Formulation // formulation of the problem: ReverseKL or ForwardKL
	Bound       []float64   // requested bounds b
	// critical bound b_crit of ReverseKL (see [CriticalError]) if there is only one unwanted
	// distribution; otherwise 0
	Critical float64
	// supremum of the dual function, not attained; for ForwardKL, the largest value found
	Supremum float64
	Lambda   []float64 // multipliers at which the dual function approaches Supremum
	Value    []float64 // divergences KL(q_i‖p_λ) at Lambda, for ForwardKL
	// for ForwardKL: error of each Value due to the rounding of λ; at least one is larger
	// than allowed in a solution
	Blur []float64
}

func (e *CriticalError) Error() string {
	if e.Formulation == ForwardKL {
		return fmt.Sprintf("unlearn: forward-kl: bounds %v need λ nearer to the edge q − Σλ_i q_i = 0 than float64 gets: at λ = %v the divergences are %v, and a rounding of λ moves them by %.2g: lower the bounds", e.Bound, e.Lambda, e.Value, e.Blur)
	}
	if e.Critical > 0 {
		return fmt.Sprintf("unlearn: reverse-kl: bound = %v, want < b_crit = %v: the dual supremum %v is not attained: lower it, or use DiscreteSafe or Global", e.Bound[0], e.Critical, e.Supremum)
	}
	return fmt.Sprintf("unlearn: reverse-kl: bounds %v are beyond what any λ reaches: the dual supremum %v is not attained: lower them, or use DiscreteSafe or Global", e.Bound, e.Supremum)
}

// Critical returns the critical bound b_crit of ReverseKL (see [CriticalError]) for the first
// unwanted distribution q_1. If q_1 = 0 at a state where q > 0, every bound can be reached, and
// Critical returns 0.
func (u *Problem) Critical() float64 {
	best, mass := math.Inf(-1), 0.0
	for k, q := range u.q {
		if q == 0 {
			continue
		}
		a := u.away[0][k]
		switch r := simd.Log(q / a); {
		case math.IsInf(r, 1):
			return 0
		case math.Abs(r-best) <= ratioRounding:
			mass += a
		case r > best:
			best, mass = r, a
		}
	}
	return -simd.Log(mass)
}

// ratioRounding is the difference of log-ratios below which two states are treated as equal. It is
// a few rounding errors of numbers near 1.
const ratioRounding = 1e-13

// farthest returns the largest log(q/q_u), where q_u is the first unwanted distribution.
func (u *Problem) farthest() float64 {
	best := math.Inf(-1)
	for k, q := range u.q {
		if q > 0 {
			best = max(best, simd.Log(q/u.away[0][k]))
		}
	}
	return best
}

// bounds expresses a formulation with bounds on means as a problem for [dual.SolveStates] over the
// states where q > 0. It returns their energies f0 = −log q, the bounded values h and one row per
// bound.
func (u *Problem) bounds(f Formulation, b []float64) (f0, h []float64, rows []dual.Row) {
	name := map[Formulation]string{Likelihood: "mean of away[%d]", LikelihoodRatio: "mean ratio of away[%d]", DiscreteSafe: "mean log-ratio from away[%d]"}[f]
	for i, v := range b {
		rows = append(rows, dual.Row{Name: fmt.Sprintf(name, i), Bound: v, AtLeast: f == DiscreteSafe})
	}

	for k, q := range u.q {
		if q == 0 {
			continue
		}
		f0 = append(f0, -simd.Log(q))
		for i := range b {
			v := u.statistic(f, i, k)
			if f == DiscreteSafe {
				v = -v
			}
			h = append(h, v)
		}
	}
	return f0, h, rows
}

// dual returns the dual function of a formulation, with its gradient and curvature. reverseDual
// and forwardDual state the formulas for the KL formulations.
func (u *Problem) dual(f Formulation, b []float64) concave.Func {
	switch f {
	case ReverseKL:
		return u.reverseDual(b)
	case ForwardKL:
		return u.forwardDual(b)
	}
	f0, h, rows := u.bounds(f, b)
	m := len(b)
	list, g := tilt.New(1, m, nil), make([]float64, m)
	for k, e := range f0 {
		for i, r := range rows {
			if g[i] = h[k*m+i] - r.Bound; r.AtLeast {
				g[i] = -g[i]
			}
		}
		list.Append(e, g)
	}
	return list.Value
}

// reverseDual returns the dual function of ReverseKL, D(λ) = λᵀb − (1−s) log Z_λ with s = Σλ_i.
// Its gradient is b_i − KL(p_λ‖q_i), its curvature is Cov(log p_λ/q_i, log p_λ/q_j)/(1−s), and its
// size is the mean deviation of log p_λ/q_i.
func (u *Problem) reverseDual(b []float64) concave.Func {
	n := len(b)
	l := make([]float64, n)
	return func(lambda, grad, curv, size []float64) float64 {
		p, err := u.law(ReverseKL, lambda)
		if err != nil {
			return math.Inf(-1) // s ≥ 1
		}
		c, value := 1.0, 0.0
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(p, u.away[i])
			value += float64(v * grad[i])
		}
		// D(λ) is the Lagrangian at its minimum p_λ.
		value += KL(p, u.q)
		clear(curv)
		clear(size)
		for k, v := range p {
			if v == 0 {
				continue
			}
			for i, a := range u.away {
				l[i] = simd.Log(v/a[k]) - (b[i] - grad[i])
				size[i] += math.Abs(float64(v * l[i]))
			}
			for i := range n {
				for j := range n {
					curv[i*n+j] += float64(v*l[i]*l[j]) / c
				}
			}
		}
		return value
	}
}

// reverseLines returns the dual function D of ReverseKL in the variables μ = λ/(1−s) ≥ 0, with s =
// Σλ_i. These variables are not limited by s < 1. p_μ ∝ q·exp(Σμ_i l_i), l_i = log(q/q_i), is an
// exponential family. Lines of μ are lines of λ, on which D is concave. The function stores the
// gradient and the curvature of D, both divided by 1−s. They are h − λᵀh with h_i = b_i −
// KL(p‖q_i), and Cov(l), respectively.
func (u *Problem) reverseLines(b []float64) concave.Func {
	n := len(b)
	l := make([]float64, n)
	return func(mu, grad, curv, size []float64) float64 {
		lambda := fromNatural(mu)
		if lambda == nil {
			return math.Inf(-1)
		}
		p, mean := u.natural(mu)
		along, value := 0.0, KL(p, u.q)
		for i, v := range lambda {
			grad[i] = b[i] - KL(p, u.away[i])
			along += float64(v * grad[i])
		}
		for i := range grad {
			grad[i] -= along
		}
		clear(curv)
		clear(size)
		for k, v := range p {
			if v == 0 {
				continue
			}
			for i, a := range u.away {
				l[i] = simd.Log(u.q[k]/a[k]) - mean[i]
				size[i] += math.Abs(float64(v * l[i]))
			}
			for i := range n {
				for j := range n {
					curv[i*n+j] += float64(v * l[i] * l[j])
				}
			}
		}
		return value + along
	}
}

// natural returns the distribution p_μ of reverseLines and the means of log(q/q_i) under p_μ.
func (u *Problem) natural(mu []float64) (p, mean []float64) {
	p, mean = make([]float64, len(u.q)), make([]float64, len(mu))
	for k, q := range u.q {
		if p[k] = simd.Log(q); q == 0 {
			continue
		}
		for i, a := range u.away {
			p[k] += float64(mu[i] * simd.Log(q/a[k]))
		}
	}
	tilt.Normalize(p)
	for k, v := range p {
		if v > 0 {
			for i, a := range u.away {
				mean[i] += float64(v * simd.Log(u.q[k]/a[k]))
			}
		}
	}
	return p, mean
}

// mostNatural is the largest Σμ = s/(1−s). At larger sums, λ no longer distinguishes distributions,
// because s has only 16 digits.
const mostNatural = 1e7

// fromNatural returns λ = μ/(1+Σμ), or nil if Σμ exceeds mostNatural.
func fromNatural(mu []float64) []float64 {
	sum := 1.0
	for _, v := range mu {
		sum += v
	}
	if !(sum <= (1+mostNatural)*(1+0x1p-40)) { // allows for the rounding error of Σμ in slice
		return nil
	}
	lambda := make([]float64, len(mu))
	for i, v := range mu {
		lambda[i] = v / sum
	}
	return lambda
}

// forwardDual returns the dual function of ForwardKL, D(λ) = KL(q‖p_λ) + Σλ_i(b_i − KL(q_i‖p_λ)).
// Its gradient is b_i − KL(q_i‖p_λ), and its curvature is Σ_x q_i q_j/(q − Σλq) − 1/(1−s) with s
// = Σλ_i. Its size is the standard deviation of q_i/p_λ. Near the edge of the domain these grow
// without bound, so there it is in nats.
func (u *Problem) forwardDual(b []float64) concave.Func {
	n := len(b)
	return func(lambda, grad, curv, size []float64) float64 {
		p, err := u.law(ForwardKL, lambda)
		if err != nil {
			return math.Inf(-1)
		}
		c, value := 1.0, KL(u.q, p)
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(u.away[i], p)
			value += float64(v * grad[i])
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
			size[i] = min(math.Sqrt(max(0, curv[i*n+i]*c)), nats/settled*max(1, math.Abs(b[i])))
		}
		return value
	}
}

// maxFaces is the largest number of states with q > 0 that [Problem.Global] accepts. It searches
// every subset of these states.
const maxFaces = 20

// Global returns the distribution p on a small space that minimises KL(p‖q) subject to KL(p‖q_1) ≥
// b. It also works beyond the critical bound b_crit (see [CriticalError]), where no multiplier
// gives the optimum. There, p has probability 0 at some states. In the solution, Cost and Value are
// as for [ReverseKL], and Lambda is nil.
//
// Global takes time proportional to 2^n, where n is the number of states with q > 0.
//
// Global returns an error if there are several unwanted distributions or if n > 20. It also returns
// an error if b is above the largest possible KL(p‖q_1), which is −log min q_1 over the states with
// q > 0.
func (u *Problem) Global(b float64) (*Solution, error) {
	if err := u.check(ReverseKL); err != nil {
		return nil, err
	}
	if len(u.away) != 1 {
		return nil, fmt.Errorf("unlearn: Global: %d distributions, want 1", len(u.away))
	}
	var support []int
	most := 0.0
	for k, q := range u.q {
		if q > 0 {
			support = append(support, k)
			most = max(most, -simd.Log(u.away[0][k]))
		}
	}
	if n := len(support); n > maxFaces {
		return nil, fmt.Errorf("unlearn: Global: %d states with probability, want ≤ %d", n, maxFaces)
	}
	if !(b <= most) {
		return nil, fmt.Errorf("unlearn: Global: b = %v, want ≤ %v, the largest KL(p‖q_1) of a distribution on the support of q", b, most)
	}
	best := &Solution{Cost: math.Inf(1)}
	try := func(p []float64) {
		if cost := KL(p, u.q); cost < best.Cost {
			best = &Solution{P: p, Cost: cost, Value: []float64{KL(p, u.away[0])}}
		}
	}
	for set := uint(1); set < 1<<len(support); set++ {
		face := make([]int, 0, bits.OnesCount(set))
		for k, state := range support {
			if set&(1<<k) != 0 {
				face = append(face, state)
			}
		}
		u.tilts(face, b, try)
		if len(face) == 2 {
			u.edge(face, b, try)
		}
	}
	return best, nil
}

// tilts calls try with the best distribution ∝ q·(q/q_1)^t on a face, t ≥ 0. KL(p‖q_1) grows with
// t. If t = 0 satisfies the bound, that distribution is the best. Otherwise the best t is the one
// that reaches the bound. If no t reaches it, tilts does not call try.
func (u *Problem) tilts(face []int, b float64, try func([]float64)) {
	tilted := func(t float64) []float64 {
		w := make([]float64, len(face))
		for i, k := range face {
			w[i] = simd.Log(u.q[k]) + float64(t*simd.Log(u.q[k]/u.away[0][k]))
		}
		tilt.Normalize(w)
		p := make([]float64, len(u.q))
		for i, k := range face {
			p[k] = w[i]
		}
		return p
	}
	enough := func(t float64) bool { return KL(tilted(t), u.away[0]) >= b }
	if enough(0) {
		try(tilted(0))
		return
	}
	hi := 1.0
	for !enough(hi) {
		// the distribution has frozen: b exceeds the critical bound of this face
		if hi *= 2; hi > 1<<40 {
			return
		}
	}
	try(tilted(bisect(0, hi, enough)))
}

// edge calls try with the distributions on two states that reach the bound, at most one on either
// side of q_1 restricted to these states.
func (u *Problem) edge(face []int, b float64, try func([]float64)) {
	i, j := face[0], face[1]
	mixed := func(a float64) []float64 {
		p := make([]float64, len(u.q))
		p[i], p[j] = a, 1-a
		return p
	}
	enough := func(a float64) bool { return KL(mixed(a), u.away[0]) >= b }
	center := u.away[0][i] / (u.away[0][i] + u.away[0][j])
	if enough(0) {
		try(mixed(bisect(center, 0, enough)))
	}
	if enough(1) {
		try(mixed(bisect(center, 1, enough)))
	}
}

// bisect returns the smallest number in [lo, hi] at which accepts returns true. The function
// accepts must be monotone and true at hi.
func bisect(lo, hi float64, accepts func(float64) bool) float64 {
	if accepts(lo) {
		return lo
	}
	for {
		mid := lo + float64((hi-lo)/2)
		if mid == lo || mid == hi {
			return hi
		}
		if accepts(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// Solution is the optimum of an unlearning problem.
type Solution struct {
	P      []float64 // the distribution p_λ* at the optimal multipliers
	Lambda []float64

	// Cost is the objective in nats: KL(q‖p) for ForwardKL, and KL(p‖q) otherwise.
	Cost float64

	// Value holds the bounded quantity for each distribution. Depending on the formulation it
	// is KL(p‖q_i), KL(q_i‖p), E_p[q_i], E_p[q_i/q] or E_p[log q/q_i].
	Value []float64
}

// Solve returns the optimum of a formulation under the bounds b, exact up to rounding. The slice b
// holds one bound per distribution: ε_i for Likelihood and LikelihoodRatio, and b_i for the others.
//
// Bounds must be finite. Solve returns an error if the number of bounds is wrong or if the
// distributions do not satisfy the conditions of the formulation (see [New]). It returns these
// typed errors:
//
//   - a [*CriticalError] if ReverseKL is proven to have no multipliers whose sum is at most 1 −
//     10⁻⁵, or if ForwardKL has no multipliers that float64 numbers can represent;
//   - a [*dual.DivergedError] if no distribution satisfies the bounds on means, or if only
//     distributions on part of the states satisfy them;
//   - a [*dual.UndecidedError] if neither a solution nor a proof that none exists was found;
//   - a [*TailError] if the sample is too small for the means on which the result depends.
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
		// If λ_i > 0, p_λ cuts off the tail. If λ_i = 0, the result depends on the sample
		// mean.
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
		f0, h, rows := u.bounds(f, b)
		s, err := dual.SolveStates(ctx, f0, h, 1, rows)
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

// settled is the largest difference from a bound, in the unit of that bound, that counts as
// rounding at a solution.
const settled = 1e-9

// nats is the largest difference of a divergence from its bound that counts as rounding, relative
// to the bound or to one nat.
const nats = 1e-7

// reverse returns the multipliers that solve ReverseKL with bounds b.
func (u *Problem) reverse(ctx context.Context, b []float64) ([]float64, error) {
	if c := u.Critical(); len(b) == 1 && c > 0 && b[0] >= c {
		// D(λ) = λb − (1−λ) log Z → b − max log(q/q_u).
		return nil, &CriticalError{Bound: b, Critical: c, Supremum: b[0] - u.farthest(), Lambda: []float64{1}}
	}
	top, err := concave.Maximize(ctx, u.reverseLines(b), make([]float64, len(b)), 1, nil)
	if err != nil {
		return nil, err
	}
	lambda := fromNatural(top.Lambda)
	violation, deviation := u.reverseViolation(lambda, b)
	if concave.Within(lambda, violation, deviation, settled) {
		return lambda, nil
	}
	// the best multipliers with Σλ = 1 − 10⁻⁷
	far, err := u.slice(ctx, b, top.Last)
	if err != nil {
		return nil, err
	}
	// For every λ' and any p, D(λ') ≤ KL(p‖q) + Σλ'_i h_i ≤ KL(p‖q) + s'·max h with s' =
	// Σλ'_i. At the optimum, D(λ') ≥ D(λ) = KL(p‖q) + λᵀh. Together they require s' ≥ λᵀh/max
	// h.
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
	return nil, &dual.UndecidedError{Lambda: lambda, Violation: violation, Deviation: deviation, Rows: divergences(b)}
}

// edge is the largest distance 1 − Σλ that a solution could have if [Problem.Solve] reports that
// there is no solution.
const edge = 1e-5

// sure is the smallest violation at Σλ ≈ 1 that rounding cannot explain.
const sure = 0.005

// slice returns the multipliers that maximise D among those with Σμ = mostNatural. The search
// begins at the multipliers start.
func (u *Problem) slice(ctx context.Context, b, start []float64) ([]float64, error) {
	n, lead, sum := len(b), 0, 0.0
	for i, v := range start {
		sum += v
		if v > start[lead] {
			lead = i
		}
	}
	mu, full, square, sizes := make([]float64, n), make([]float64, n), make([]float64, n*n), make([]float64, n)
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
	f := func(others, grad, curv, size []float64) float64 {
		if !complete(others) {
			return math.Inf(-1)
		}
		v := d(mu, full, square, sizes)
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
			size[x] = math.Sqrt(max(0, curv[x*(n-1)+x]))
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
		top, err := concave.Maximize(ctx, f, from, 1, nil)
		if err != nil {
			return nil, err
		}
		from = top.Lambda
	}
	complete(append(from, make([]float64, n)...))
	return fromNatural(mu), nil
}

// reverseViolation returns b_i − KL(p‖q_i) and the mean deviation of log(p/q_i) for every i.
func (u *Problem) reverseViolation(lambda, b []float64) (violation, deviation []float64) {
	n := len(b)
	violation, deviation = make([]float64, n), make([]float64, n)
	u.reverseDual(b)(lambda, violation, make([]float64, n*n), deviation)
	return violation, deviation
}

// forward returns the multipliers that solve ForwardKL with bounds b.
func (u *Problem) forward(ctx context.Context, b []float64) ([]float64, error) {
	n := len(b)
	d := u.dual(ForwardKL, b)
	top, err := concave.Maximize(ctx, d, make([]float64, n), 1, nil)
	if err != nil {
		return nil, err
	}
	grad, curv, unit := make([]float64, n), make([]float64, n*n), make([]float64, n)
	d(top.Lambda, grad, curv, unit)
	if concave.Within(top.Lambda, grad, unit, settled) {
		return top.Lambda, nil
	}
	for _, lambda := range [][]float64{top.Lambda, top.Last} {
		blur := u.blur(lambda)
		if !slices.ContainsFunc(blur, func(v float64) bool { return !(v < nats/10) }) {
			continue
		}
		e := &CriticalError{Formulation: ForwardKL, Bound: b, Supremum: d(lambda, grad, curv, unit), Lambda: lambda, Blur: blur}
		for i, g := range grad {
			e.Value = append(e.Value, b[i]-g)
		}
		return nil, e
	}
	return nil, &dual.UndecidedError{Lambda: top.Lambda, Violation: grad, Deviation: unit, Rows: divergences(b)}
}

// blur returns the change of every KL(q_i‖p_λ) when λ is rounded. Rounding λ changes q − Σλ_i q_i
// by 2⁻⁵³q. A change counts as too large if it exceeds a tenth of the smallest difference from a
// bound that is not attributed to rounding.
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

// at returns the solution at the multipliers lambda, which consists of p_λ, its cost and its
// bounded values.
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

// Point is one point of a trade-off curve (see [Problem.TradeOff]). The curve gives the cost of
// moving from q to a distribution p with a smaller share of q_1.
type Point struct {
	Formulation Formulation
	Unlearned   float64 // share E_p[q_1/q] of q_1 that remains under p; 1 at p = q
	KL          float64 // cost KL(p‖q) in nats
	Lambda      float64
}

// UnreachableError reports that a formulation cannot reduce q_1 to the requested level.
type UnreachableError struct {
	Formulation Formulation // formulation that cannot reach the level
	Level       float64     // requested share E_p[q_1/q] of q_1 that remains
	// infimum of the levels E_p[q_1/q] that distributions of the formulation reach
	Lowest float64
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("unlearn: TradeOff: %v: level = %v, want > %v, the least this formulation leaves", e.Formulation, e.Level, e.Lowest)
}

// TradeOff returns the points of trade-off curves between unlearning q_1 and staying close to q.
// For each formulation and each level 0 < r ≤ 1, it finds the distribution p with E_p[q_1/q] = r,
// and the cost of p. Only the first unwanted distribution q_1 is used.
//
// TradeOff omits levels that a formulation cannot reach. It then returns the other points, and an
// error that contains an [*UnreachableError] for each omitted level. There are no points if a level
// is out of range or ctx ended. The distributions must satisfy the conditions of each formulation
// and of LikelihoodRatio.
func (u *Problem) TradeOff(ctx context.Context, levels []float64, forms ...Formulation) ([]Point, error) {
	one := &Problem{q: u.q, away: u.away[:1]}
	if u.ratios != nil {
		one.ratios, one.scale, one.tails = u.ratios[:1], u.scale[:1], u.tails[:1]
	}
	if err := one.check(LikelihoodRatio); err != nil {
		return nil, err
	}
	var points []Point
	var missing []error
	for _, f := range forms {
		if err := one.check(f); err != nil {
			return nil, err
		}
		for _, level := range levels {
			if !(level > 0 && level <= 1) {
				return nil, fmt.Errorf("unlearn: TradeOff: level = %v, want 0 < level ≤ 1", level)
			}
			if err := poll.Err(ctx); err != nil {
				return nil, err
			}
			p, err := one.point(f, level)
			if err != nil {
				missing = append(missing, err)
				continue
			}
			points = append(points, p)
		}
	}
	return points, errors.Join(missing...)
}

// left returns E_p[q_1/q], the share of q_1 that remains in p.
func (u *Problem) left(p []float64) float64 {
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += float64(v * u.statistic(LikelihoodRatio, 0, k))
		}
	}
	return sum
}

// point finds by bisection the λ at which E_p[q_1/q] equals level. That mean falls as λ grows,
// because every formulation weights states by a decreasing function of q_1/q. For Likelihood this
// holds only if q_1 and q_1/q order the states alike.
func (u *Problem) point(f Formulation, level float64) (Point, error) {
	at := func(t float64) Point {
		lambda := u.multiplier(f, t)
		p, err := u.law(f, []float64{lambda})
		if err != nil { // t is near 1, where λ exceeds the largest valid value
			return Point{Unlearned: math.NaN()}
		}
		return Point{f, u.left(p), KL(p, u.q), u.scaled(f, []float64{lambda}, false)[0]}
	}
	lo, hi := 0.0, 1.0
	low := at(math.Nextafter(1, 0))
	if !(low.Unlearned < level) {
		return Point{}, &UnreachableError{f, level, low.Unlearned}
	}
	best := at(0)
	for range 200 { // bisecting a float64 interval takes about 60 steps
		mid := lo + float64((hi-lo)/2)
		if mid <= lo || mid >= hi {
			break
		}
		if p := at(mid); p.Unlearned >= level {
			lo, best = mid, p
		} else {
			hi = mid
		}
	}
	return best, nil
}

// multiplier maps 0 ≤ t < 1 to a multiplier λ of the formulation.
func (u *Problem) multiplier(f Formulation, t float64) float64 {
	switch f {
	case ReverseKL:
		return t
	case ForwardKL:
		most := math.Inf(1)
		for k, a := range u.away[0] {
			if a > 0 {
				most = min(most, u.q[k]/a)
			}
		}
		return t * min(most, 1)
	}
	return t / (1 - t)
}

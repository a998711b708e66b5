package unlearn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Problem is a distribution q on a finite space and distributions q_i to
// move away from. It is immutable and safe for concurrent use.
type Problem struct {
	q    []float64
	away [][]float64

	// Of FromRatios: the ratios as given, their means and their tails.
	ratios [][]float64
	scale  []float64
	tails  []float64
}

// sumSlack is how far the sum of probabilities may be from 1 before it is not
// rounding; distributions are normalised.
const sumSlack = 1e-9

// New returns the problem of moving q away from the given distributions. Each has one
// probability per state and is copied. New returns an error unless all distributions have
// the same length and consist of numbers ≥ 0 that sum to 1 within 10⁻⁹.
//
// Formulations have further conditions: ReverseKL and DiscreteSafe need q_i > 0 wherever
// q > 0, ForwardKL and LikelihoodRatio need q > 0 wherever q_i > 0.
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

// FromRatios returns the problem on a sample from q: ratios[i][k] = q_i(x_k)/q(x_k) for
// draws x_1, x_2, … from q, which become equally likely states. Solving it finds λ for
// ForwardKL and LikelihoodRatio without ever sampling p_λ (the dual-only algorithm).
// [Rejection] then draws from p_λ.
//
// Multipliers and bounds refer to the ratios as given, as in [AcceptForward] and
// [AcceptLikelihood]. For ForwardKL, q_i is the sample weighted by the ratios, of which the
// largest are smoothed; [Problem.Tails] tells when their mean is known.
//
// It returns an error unless every distribution has the same number of ratios, none
// negative, with a positive finite mean.
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

// Tails returns the tail shape k̂ of the ratios of every distribution for a problem from
// [FromRatios], and nil for others. Up to 0.5 the sample determines their mean, and up to
// 0.7 nearly so. Beyond, [Problem.Solve] returns a [*TailError] if its answer depends on
// that mean. k̂ is −Inf if the largest values are equal or there are fewer than 25.
func (u *Problem) Tails() []float64 { return slices.Clone(u.tails) }

// checkDistribution returns a normalised copy of p.
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

// check returns an error unless the formulation makes sense for the
// distributions.
func (u *Problem) check(f Formulation) error {
	for i, a := range u.away {
		for k, v := range a {
			switch f {
			case ReverseKL, DiscreteSafe:
				if v == 0 && u.q[k] > 0 {
					return fmt.Errorf("unlearn: %v: distribution %d has no probability at state %d where q = %v", f, i, k, u.q[k])
				}
			case ForwardKL, LikelihoodRatio:
				if v > 0 && u.q[k] == 0 {
					return fmt.Errorf("unlearn: %v: q has no probability at state %d where distribution %d has %v", f, k, i, v)
				}
			case Likelihood:
			default:
				return fmt.Errorf("unlearn: formulation = %v, want one that is named", f)
			}
		}
	}
	return nil
}

// Law returns the distribution p_λ. It returns an error if the formulation does not suit
// the distributions, if there is not one finite λ_i ≥ 0 per distribution, or if p_λ is not
// a distribution: Σλ ≥ 1 for ReverseKL, or a negative probability for ForwardKL.
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

// scaled returns multipliers of ratios as given for those of ratios of mean 1, and the
// other way round if back is true.
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

// law is Law for multipliers that are allowed, of ratios of mean 1.
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

// statistic returns the function whose mean a formulation bounds from above.
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

// KL returns KL(p‖q) = Σ p log(p/q), +Inf where p has probability and q none. It panics
// unless the lengths are equal.
func KL(p, q []float64) float64 {
	check.Len("unlearn", "q", len(q), len(p))
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += float64(v * simd.Log(v/q[k]))
		}
	}
	return max(sum, 0) // a sum of roundings may be below 0
}

// Formulation is a precise form of "stay close to q, away from q_1 … q_m" (Khalafi,
// Ribeiro and Ding 2026), with a distribution p_λ that solves it for multipliers λ.
type Formulation int

const (
	// ReverseKL is min KL(p‖q) subject to KL(p‖q_i) ≥ b_i,
	//
	//	p_λ ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)},  s = Σλ_i < 1.
	//
	// The constraints are not convex: on finite spaces there may be no λ. See
	// [CriticalError] and [DiscreteSafe].
	ReverseKL Formulation = iota

	// ForwardKL is min KL(q‖p) subject to KL(q_i‖p) ≥ b_i,
	//
	//	p_λ = (q − Σλ_i q_i)/(1−s), wherever that is a distribution.
	ForwardKL

	// Likelihood is min KL(p‖q) subject to E_p[q_i] ≤ ε_i,
	//
	//	p_λ ∝ q·exp(−Σλ_i q_i).
	Likelihood

	// LikelihoodRatio is min KL(p‖q) subject to E_p[r_i] ≤ ε_i, r_i = q_i/q,
	//
	//	p_λ ∝ q·exp(−Σλ_i r_i).
	//
	// It does not depend on the reference measure of the densities, and E_q[r_i] is 1
	// before unlearning.
	LikelihoodRatio

	// DiscreteSafe is min KL(p‖q) subject to E_p[log q/q_i] ≥ b_i,
	//
	//	p_λ ∝ q^{1+s} ∏ q_i^{−λ_i}:
	//
	// These are the distributions of ReverseKL with λ_RU = λ/(1+s), but under constraints
	// that are linear in p. On any space, λ* exists if some distribution satisfies the
	// bounds b strictly.
	DiscreteSafe
)

var formulations = [...]string{"reverse-kl", "forward-kl", "likelihood", "likelihood-ratio", "discrete-safe"}

// String returns the name in lower case with hyphens.
func (f Formulation) String() string {
	if f < 0 || int(f) >= len(formulations) {
		return fmt.Sprintf("Formulation(%d)", int(f))
	}
	return formulations[f]
}

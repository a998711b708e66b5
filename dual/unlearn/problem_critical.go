package unlearn

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// CriticalError means that no multipliers were found for the bounds of a ReverseKL or
// ForwardKL problem.
//
// The dual of ReverseKL may have no maximum: multipliers reach s = 1 while a constraint is
// still violated. On a finite space, KL(p_λ‖q_i) cannot exceed a critical bound, which for
// one distribution is
//
//	b_crit = −log q_u(M),  M = {x : q(x)/q_u(x) is largest}.
//
// (Strong duality needs distributions without atoms.) [Problem.Global] finds the
// optimum of small problems; [DiscreteSafe] is the formulation without a gap.
//
// KL(q_i‖p_λ) of ForwardKL has no such limit, but grows only with the logarithm of the
// distance from λ to the edge q − Σλ_i q_i = 0, so beyond some bound no float64 is close
// enough to the edge. Blur proves this: at Lambda, changing λ by 2⁻⁵³ changes a divergence
// by 10⁻⁸ nats or more, so float64 numbers cannot represent a solution.
type CriticalError struct {
	Formulation Formulation // ReverseKL or ForwardKL
	Bound       []float64   // b
	Critical    float64     // b_crit of ReverseKL for one distribution, 0 otherwise
	Supremum    float64     // of the dual function, not attained; ForwardKL: largest value found
	Lambda      []float64   // where the dual approaches it
	Value       []float64   // KL(q_i‖p_λ) there, for ForwardKL
	Blur        []float64   // by how much a rounding of λ moves each Value, for ForwardKL: one is more than a solution may be off
}

func (e *CriticalError) Error() string {
	if e.Formulation == ForwardKL {
		return fmt.Sprintf("unlearn: forward-kl: bounds %v need λ nearer to the edge q − Σλ_i q_i = 0 than float64 gets: at λ = %v the divergences are %v, and a rounding of λ moves them by %.2g", e.Bound, e.Lambda, e.Value, e.Blur)
	}
	if e.Critical > 0 {
		return fmt.Sprintf("unlearn: reverse-kl: bound = %v, want < b_crit = %v: the dual supremum %v is not attained", e.Bound[0], e.Critical, e.Supremum)
	}
	return fmt.Sprintf("unlearn: reverse-kl: bounds %v are beyond what any λ reaches: the dual supremum %v is not attained", e.Bound, e.Supremum)
}

// Critical returns b_crit of [CriticalError] for the first distribution, or 0 if that
// distribution has probability 0 where q does not; then no bound is too large.
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

// ratioRounding is the difference of log-ratios below which two states count as
// equally far: a few roundings of numbers of the order of 1.
const ratioRounding = 1e-13

// farthest returns the largest log(q/q_u).
func (u *Problem) farthest() float64 {
	best := math.Inf(-1)
	for k, q := range u.q {
		if q > 0 {
			best = max(best, simd.Log(q/u.away[0][k]))
		}
	}
	return best
}

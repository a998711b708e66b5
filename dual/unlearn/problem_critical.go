package unlearn

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// CriticalError is the error of a ReverseKL or ForwardKL problem for whose bounds no
// multipliers were found.
//
// The dual of ReverseKL may have no maximum: multipliers reach s = 1 with a
// constraint still violated. On a finite space
// KL(p_λ‖q_i) cannot grow beyond a critical bound: for one distribution
//
//	b_crit = −log q_u(M),  M = {x : q(x)/q_u(x) is largest}.
//
// (Strong duality needs distributions without atoms.) [Problem.Global] finds the
// optimum of small problems; [DiscreteSafe] is the formulation without a gap.
//
// KL(q_i‖p_λ) of ForwardKL has no such limit, but grows only with the logarithm of the
// distance from λ to the edge q − Σλ_i q_i = 0: beyond some bound no float64 is near
// enough to the edge. Blur proves it: at Lambda a change of λ by 2⁻⁵³ moves a divergence by
// 10⁻⁸ nats or more, so that float64 numbers do not single out a solution.
type CriticalError struct {
	Formulation Formulation // ReverseKL or ForwardKL
	Bound       []float64   // b
	Critical    float64     // b_crit of ReverseKL for one distribution, 0 otherwise
	Supremum    float64     // of the dual function, not attained; for ForwardKL the largest value met
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

// Critical returns b_crit of [CriticalError] for the first distribution, 0 if
// it has no probability where q has some: then no bound is too large.
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

package unlearn

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// CriticalError says that the dual of a reverse-KL problem has no maximum:
// multipliers reach s = 1 with a constraint still violated. On a finite space
// KL(p_λ‖q_i) cannot grow beyond a critical bound: for one distribution
//
//	b_crit = −log q_u(M),  M = {x : q(x)/q_u(x) is largest}.
//
// (Strong duality needs distributions without atoms.) [Problem.Global] finds the
// optimum of small problems; [DiscreteSafe] is the formulation without a gap.
type CriticalError struct {
	Bound    []float64 // b
	Critical float64   // b_crit, for one distribution; for several 0
	Supremum float64   // of the dual function, not attained
	Lambda   []float64 // where the dual approaches it
}

func (e *CriticalError) Error() string {
	if len(e.Bound) == 1 {
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

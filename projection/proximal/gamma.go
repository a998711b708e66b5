package proximal

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Gamma is a schedule of the penalty weight γ (see [Projector]). It returns γ for a diffusion step,
// given the times before and after the step. Both times are in [0, 1], and the second is smaller. A
// larger γ gives smaller violations. The choice of schedule matters little (Narasimhan et al. 2025,
// section 5).
type Gamma func(start, end float64) float64

// ExpGamma returns the schedule of Narasimhan et al. (2025) for the penalty weight γ,
//
//	γ = min(exp(1/(1−ᾱ)), limit),
//
// where ᾱ is the signal level after the step. The function alpha returns the signal level at a
// given time. The schedule starts near γ = 2.7 and reaches its limit once ᾱ > 1 − 1/log limit. A
// limit of 0 means 1e5, as in the paper.
func ExpGamma(alpha func(t float64) float64, limit float64) Gamma {
	if limit == 0 {
		limit = SoftGamma
	}
	top := simd.Log(limit)
	return func(_, to float64) float64 {
		x := 1 / (1 - alpha(to))
		if !(x < top) {
			return limit
		}
		return simd.Exp(x)
	}
}

// PowerGamma returns the schedule of the penalty weight γ
//
//	γ = limit·(1−t)^power,
//
// where t is the time after the step. The schedule is linear for power 1 and quadratic for power 2.
// A limit of 0 means 1e5. PowerGamma panics unless power > 0.
func PowerGamma(power, limit float64) Gamma {
	if !(power > 0) {
		panic(fmt.Sprintf("proximal: PowerGamma: power = %v, want > 0", power))
	}
	if limit == 0 {
		limit = SoftGamma
	}
	return func(_, to float64) float64 {
		if to >= 1 {
			return 0
		}
		return limit * simd.Exp(power*simd.Log(1-to))
	}
}

// ConstantGamma returns a schedule with the same penalty weight γ at all times.
func ConstantGamma(gamma float64) Gamma {
	return func(_, _ float64) float64 { return gamma }
}

// at returns γ for a step. It returns +Inf if g is nil, which means the hard form.
func (g Gamma) at(start, end float64) float64 {
	if g == nil {
		return math.Inf(1)
	}
	return g(start, end)
}

// SoftGamma is the value of γ for inequalities that contradict each other. [Solver.Solve] then
// solves the penalty form with this γ (see [Projector]). In Narasimhan et al. (2025), γ also rises
// to 1e5.
const SoftGamma = 1e5

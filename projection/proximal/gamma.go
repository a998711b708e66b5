package proximal

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Gamma is a schedule of penalties: it returns γ for the step from time from to time to, 1 ≥ from
// > to ≥ 0. The choice of schedule matters little (Narasimhan et al. 2025, section 5), and
// schedules tend to the hard form.
type Gamma func(from, to float64) float64

// ExpGamma returns γ = min(exp(1/(1−ᾱ(to))), limit), the schedule of Narasimhan et al. 2025; a
// limit of 0 means their 1e5. alpha is the signal level of the process, ᾱ. The schedule starts
// near e and is at its limit where ᾱ > 1 − 1/log limit.
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

// PowerGamma returns γ = limit·(1−to)^power at the time to that a step leads to. It is linear for power 1 and quadratic for power
// 2; a limit of 0 means 1e5. It panics unless power > 0.
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

// ConstantGamma returns the same γ at all times.
func ConstantGamma(gamma float64) Gamma {
	return func(_, _ float64) float64 { return gamma }
}

// at returns γ for a step, +Inf for no schedule.
func (g Gamma) at(from, to float64) float64 {
	if g == nil {
		return math.Inf(1)
	}
	return g(from, to)
}

// SoftGamma is the weight γ in the soft solution for contradictory rows. It is the bound on γ in
// Narasimhan et al. 2025.
const SoftGamma = 1e5

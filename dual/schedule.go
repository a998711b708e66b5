package dual

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Schedule is a step size as a function of the dual step t = 0, 1, 2, …; it
// must be a function of t alone, and finite and ≥ 0. It decides samples, so it
// should use arithmetic that is the same everywhere, as those below do.
type Schedule func(t int) float64

// Constant returns the schedule η. With η = κ/√T over T steps, the mean of the
// multipliers is O(1/√T) from the optimum (Hadou et al. 2026, theorem 1).
func Constant(eta float64) Schedule { return func(int) float64 { return eta } }

// Power returns the schedule κ/(1+t)^p, for runs whose length is not known
// ahead: ½ < p ≤ 1 is the classical range of stochastic approximation.
func Power(kappa, p float64) Schedule {
	return func(t int) float64 {
		return float64(kappa * simd.Exp(0-float64(p*simd.Log(float64(1+t)))))
	}
}

// stepSize returns the step size at step t after checking it.
func stepSize(rule string, s Schedule, t int) (float64, error) {
	eta := s(t)
	if !(eta >= 0) || !check.Finite(eta) {
		return 0, fmt.Errorf("dual: %s: step size at step %d = %v, want a finite number ≥ 0", rule, t, eta)
	}
	return eta, nil
}

package dual

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// DivergedError means that multipliers diverge: no distribution meets the constraints on
// average. The certificate is a direction u, Σ_j |u_j| = 1 and u_j ≥ 0 at inequalities,
// with
//
//	Σ_j u_j g_j(x) ≥ Margin > 0
//
// for every state x of the support, if Proven, so that no distribution has E[g] ≤ 0
// (Gordan's alternative); errors.Is then finds constraint.ErrInfeasible. Otherwise it
// holds for every sample of the last Steps dual steps, while the multipliers grew beyond
// Config.Diverge: the loop could not reach a distribution that meets the constraints, if
// there is one. Only [Solve] and [SolveStates] return Margin = 0: the constraints can
// then be met, but only by distributions on the part of the support where Σ_j u_j g_j =
// 0, to which no finite λ leads.
type DivergedError struct {
	Lambda    []float64 // the multipliers at that point
	Direction []float64 // u = λ/Σ|λ|
	Margin    float64
	Steps     int
	Proven    bool
}

func (e *DivergedError) Error() string {
	if e.Proven {
		return fmt.Sprintf("dual: no distribution meets the constraints on average: every state violates their combination %v by %.4g or more", e.Direction, e.Margin)
	}
	if e.Margin == 0 {
		return fmt.Sprintf("dual: the constraints are met only in the limit of infinite multipliers, in the direction %v", e.Direction)
	}
	return fmt.Sprintf("dual: multipliers diverge, λ = %v: every sample of the last %d steps violates the combination %v of the constraints by %.4g or more", e.Lambda, e.Steps, e.Direction, e.Margin)
}

// Unwrap returns constraint.ErrInfeasible if that is proven.
func (e *DivergedError) Unwrap() error {
	if e.Proven {
		return constraint.ErrInfeasible
	}
	return nil
}

// direction returns u = λ/Σ|λ|.
func direction(lambda []float64) []float64 {
	u := make([]float64, len(lambda))
	sum := sumOf(lambda)
	for j, v := range lambda {
		u[j] = v / sum
	}
	return u
}

// sumOf returns Σ|λ|.
func sumOf(lambda []float64) float64 {
	sum := 0.0
	for _, v := range lambda {
		sum += math.Abs(v)
	}
	return sum
}

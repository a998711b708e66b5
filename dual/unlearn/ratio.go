package unlearn

import (
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LogRatio returns the bound log q(x) − log q_i(x) ≥ b of the [DiscreteSafe]
// formulation, for models of q and q_i whose log partition sums are logZq and
// logZi: the Lagrangian of q with it has the distribution ∝ q^{1+λ} q_i^{−λ},
// certified on average by E_p[log q/q_i] ≥ b.
func LogRatio(q, qi energy.Model, logZq, logZi, b float64) dual.Bound {
	// log q − log q_i = E_i + log Z_i − E_q − log Z_q.
	return dual.Bound{Models: []energy.Model{q, qi}, Coef: []float64{1, -1}, Offset: b + logZq - logZi}
}

// Ratio returns the bound q_i(x)/q(x) ≤ eps of the [LikelihoodRatio]
// formulation; arguments as for [LogRatio]. It overflows to +Inf where q_i is
// e^709 times as likely as q.
func Ratio(q, qi energy.Model, logZq, logZi, eps float64) (dual.Bound, error) {
	if _, _, err := check.Model("unlearn", "Ratio", "q", q); err != nil {
		return dual.Bound{}, err
	}
	sites, levels := q.Shape()
	one := energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
		var e [2]float64
		q.Energy(e[:1], x)
		qi.Energy(e[1:], x)
		return simd.Exp(e[0] + logZq - e[1] - logZi)
	}}
	return dual.AtMost(one, eps), nil
}

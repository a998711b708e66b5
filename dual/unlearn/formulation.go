package unlearn

import "fmt"

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
	// It does not depend on the measure that densities refer to, and E_q[r_i]
	// is 1 before unlearning.
	LikelihoodRatio

	// DiscreteSafe is min KL(p‖q) subject to E_p[log q/q_i] ≥ b_i,
	//
	//	p_λ ∝ q^{1+s} ∏ q_i^{−λ_i}:
	//
	// the distributions of ReverseKL with λ_RU = λ/(1+s), under constraints
	// that are linear in p: λ* exists, whatever the space, if b is met strictly
	// by some distribution.
	DiscreteSafe
)

var formulations = [...]string{"reverse-kl", "forward-kl", "likelihood", "likelihood-ratio", "discrete-safe"}

// String returns a name in lower case with hyphens.
func (f Formulation) String() string {
	if f < 0 || int(f) >= len(formulations) {
		return fmt.Sprintf("Formulation(%d)", int(f))
	}
	return formulations[f]
}

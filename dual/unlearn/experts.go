package unlearn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Experts is an energy model of the optimum of the [ReverseKL] formulation, which is a product of
// experts. Let q be the original distribution, and let q_i be the unwanted distributions. Their
// models have the energies E_q and E_i. The energy is
//
//	E(x, λ) = (E_q(x) − Σ_i λ_i E_i(x)) / (1−s),  s = Σλ_i < 1,
//
// so the distribution is ∝ q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)}. Wherever q has positive probability,
// every q_i must have it, too. Experts offers the same optional interfaces as [dual.Lagrangian].
// SetLambda must not run concurrently with other methods, and kernels must be Reset after
// SetLambda.
//
// Experts is a [dual.Target]. Its constraints are KL(p_λ‖q_i) ≥ b_i, and its violations are
//
//	g_i(x) = b_i − (log p_λ(x) − log q_i(x)).
//
// [dual.Inference] halves a step that would violate s < 1. Set dual.Config.Max below 1. If a
// constraint is still violated when its multiplier is at Max, its b exceeds b_crit (see
// [CriticalError]), and the error names the constraint.
type Experts struct {
	sum           *energy.Affine                         // weighted sum of the energies of q and of the models in away
	weigh         func(weight []float64, offset float64) // sets the weights of sum
	weight        []float64
	sites, levels int
	away          []energy.Model
	lambda, bound []float64
	logZ          []float64 // log Z of each model in away
	find          func(energy.Model) (float64, error)
	now           float64 // log Z_λ at the present multipliers
}

// NewExperts returns the product of experts at λ = 0. The argument q is the model of the original
// distribution. For each unwanted distribution q_i, away[i] is its model and b[i] is the bound b_i.
// For a model m with the energy E_m, the function logZ must return log Σ_x e^{−E_m(x)}, by any
// method. NewExperts calls logZ once for each of the models away[i], and SetLambda calls it once.
//
// NewExperts returns an error if an argument is nil, if shapes differ, if the bounds are invalid,
// or if logZ returns an error.
func NewExperts(q energy.Model, away []energy.Model, b []float64, logZ func(energy.Model) (float64, error)) (*Experts, error) {
	if _, _, err := check.Model("unlearn", "NewExperts", "q", q); err != nil {
		return nil, err
	}
	if len(away) == 0 || len(b) != len(away) || logZ == nil {
		return nil, fmt.Errorf("unlearn: NewExperts: %d distributions, %d bounds and logZ set = %t, want as many bounds as distributions, ≥ 1, and logZ", len(away), len(b), logZ != nil)
	}
	m := &Experts{away: slices.Clone(away), weight: make([]float64, 1+len(b)), lambda: make([]float64, len(b)), bound: slices.Clone(b), logZ: make([]float64, len(b)), find: logZ}
	m.sites, m.levels = q.Shape()
	for i, a := range away {
		if _, _, err := check.Model("unlearn", "NewExperts", fmt.Sprintf("away[%d]", i), a); err != nil {
			return nil, err
		}
		if s, l := a.Shape(); s != m.sites || l != m.levels {
			return nil, fmt.Errorf("unlearn: NewExperts: away[%d] has %d sites and %d levels, want %d and %d", i, s, l, m.sites, m.levels)
		}
		if !check.Finite(b[i]) {
			return nil, fmt.Errorf("unlearn: NewExperts: b[%d] = %v, want a finite number", i, b[i])
		}
		var err error
		if m.logZ[i], err = logZ(a); err != nil {
			return nil, err
		}
	}
	var err error
	if m.sum, m.weigh, err = energy.NewAffine(q, away...); err != nil {
		return nil, fmt.Errorf("unlearn: NewExperts: %w", err)
	}
	return m, m.SetLambda(m.lambda)
}

// Shape returns the numbers of sites and levels of q.
func (m *Experts) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy stores in e the energies of the states x at the present multipliers; it implements
// energy.Model.
func (m *Experts) Energy(e []float64, x []int32) { m.sum.Energy(e, x) }

// As gives access to optional interfaces of package energy, such as energy.Incremental. It supports
// the same interfaces as the weighted sum of the models (see energy.Affine). It implements
// energy.Capable.
func (m *Experts) As(target any) bool { return m.sum.As(target) }

// Len returns the number of distributions q_i (see [Experts]).
func (m *Experts) Len() int { return len(m.lambda) }

// Sites returns the number of sites of a state.
func (m *Experts) Sites() int { return m.sites }

// Beta returns 1 − Σλ_i. This is the temperature for a [dual.Rule], because the Hessian of the dual
// function is −Cov(g)/(1−Σλ_i), where g are the violations.
func (m *Experts) Beta() float64 { return rest(m.lambda) }

// rest returns 1 − Σλ_i.
func rest(lambda []float64) float64 {
	c := 1.0
	for _, v := range lambda {
		c -= v
	}
	return c
}

// expert returns an error if a multiplier is negative or their sum is not below 1.
func expert(lambda []float64) error {
	for i, v := range lambda {
		if !(v >= 0) {
			return fmt.Errorf("unlearn: SetLambda: lambda[%d] = %v, want ≥ 0", i, v)
		}
	}
	if c := rest(lambda); !(c > 0) {
		return fmt.Errorf("unlearn: SetLambda: lambda = %v sums to %v, want < 1", lambda, 1-c)
	}
	return nil
}

// SetLambda sets the multipliers and computes log Z_λ. It returns an error and changes nothing if a
// multiplier is negative, if the sum of the multipliers is not below 1, or if log Z_λ cannot be
// found. It panics unless there is one multiplier per distribution.
func (m *Experts) SetLambda(lambda []float64) error {
	check.Len("unlearn", "lambda", len(lambda), len(m.lambda))
	if err := expert(lambda); err != nil {
		return err
	}
	before := slices.Clone(m.lambda)
	m.tune(lambda)
	z, err := m.find(m)
	if err != nil {
		m.tune(before)
		return err
	}
	m.now = z
	return nil
}

// tune stores the multipliers and sets the weights of the energies.
func (m *Experts) tune(lambda []float64) {
	copy(m.lambda, lambda)
	c := rest(lambda)
	m.weight[0] = 1 / c
	for i, v := range lambda {
		m.weight[1+i] = 0 - v/c
	}
	m.weigh(m.weight, 0)
}

// Violation stores in g, row-major, the violations g_i of every state of x (states × Len). It
// panics if the lengths do not match.
func (m *Experts) Violation(g []float64, x []int32) {
	n := len(m.lambda)
	states := len(x) / m.sites
	check.Len("unlearn", "g", len(g), states*n)
	e, a := scratch.Float64s.Get(states), scratch.Float64s.Get(states)
	defer scratch.Float64s.Put(e)
	defer scratch.Float64s.Put(a)
	m.Energy(*e, x)
	for i := range n {
		m.away[i].Energy(*a, x)
		for s, v := range *e {
			logp, logq := -v-m.now, -(*a)[s]-m.logZ[i]
			g[s*n+i] = m.bound[i] - (logp - logq)
		}
	}
}

// Rows returns a description of the bounds on KL(p_λ‖q_i), in nats.
func (m *Experts) Rows() []dual.Row { return divergences(m.bound) }

// divergences returns a description of lower bounds on divergences.
func divergences(bound []float64) []dual.Row {
	rows := make([]dual.Row, len(bound))
	for i, b := range bound {
		rows[i] = dual.Row{Name: fmt.Sprintf("KL from away[%d]", i), Unit: "nats", Bound: b, AtLeast: true}
	}
	return rows
}

// LogRatio returns the constraint E_p[log q − log q_i] ≥ b of the [DiscreteSafe] formulation. Here
// q is the original distribution, and q_i is an unwanted distribution. The arguments q and qi are
// models with the log partition functions logZq and logZi. The dual.Lagrangian of q with this
// constraint has the distribution ∝ q^{1+λ} q_i^{−λ}. Its certificate shows whether the constraint
// holds.
func LogRatio(q, qi energy.Model, logZq, logZi, b float64) dual.Constraint[int32] {
	// log q − log q_i = E_i + log Z_i − E_q − log Z_q.
	h := dual.Constraint[int32]{Of: []dual.Energetic[int32]{qi, q}, Coef: []float64{1, -1}, Low: b + logZq - logZi, High: math.Inf(1)}
	return h.Named("log q/q_i", "nats", 0)
}

// Ratio returns the constraint E_p[q_i/q] ≤ eps of the [LikelihoodRatio] formulation. Here q is the
// original distribution, and q_i is an unwanted distribution. The arguments q and qi are models
// with the log partition functions logZq and logZi. The ratio overflows to +Inf where q_i exceeds q
// by a factor of more than e^709.
func Ratio(q, qi energy.Model, logZq, logZi, eps float64) (dual.Constraint[int32], error) {
	if _, _, err := check.Model("unlearn", "Ratio", "q", q); err != nil {
		return dual.Constraint[int32]{}, err
	}
	sites, levels := q.Shape()
	one := energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
		var e [2]float64
		q.Energy(e[:1], x)
		qi.Energy(e[1:], x)
		return simd.Exp(e[0] + logZq - e[1] - logZi)
	}}
	return dual.AtMost(one, eps).Named("q_i/q", "", 0), nil
}

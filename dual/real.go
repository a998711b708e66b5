package dual

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// RealLagrangian is [Lagrangian] for reals: the energy
//
//	E(x, λ) = (f0(x) + Σ_j λ_j g_j(x)) / β,
//
// f0 and the inequalities g_j(x) ≤ 0 given by energies with scores. It is an
// energy.Scored and a [Target]; with langevin.Chains as the primal [Inference]
// is primal–dual Langevin (a baseline of Hadou et al. 2026), λ shared by all
// chains.
//
// The contract of [Lagrangian.SetLambda] holds here too.
type RealLagrangian struct {
	tilted
	base  energy.Scored
	terms []energy.Scored
}

// NewRealLagrangian returns the Lagrangian at λ = 0. It returns an error if base
// or a term is nil, there is no term, numbers of sites differ, or beta is not
// positive and finite.
func NewRealLagrangian(base energy.Scored, beta float64, terms ...energy.Scored) (*RealLagrangian, error) {
	if check.Nil(base) || len(terms) == 0 {
		return nil, fmt.Errorf("dual: NewRealLagrangian: base set = %t and %d terms, want a base and ≥ 1", !check.Nil(base), len(terms))
	}
	if !(beta > 0) || !check.Finite(beta) || !check.Finite(1/beta) {
		return nil, fmt.Errorf("dual: NewRealLagrangian: beta = %v, want 0 < beta < ∞", beta)
	}
	l := &RealLagrangian{tilted{base.Sites(), beta, make([]float64, len(terms))}, base, slices.Clone(terms)}
	for j, g := range terms {
		if check.Nil(g) {
			return nil, fmt.Errorf("dual: NewRealLagrangian: term %d is nil", j)
		}
		if g.Sites() != l.sites {
			return nil, fmt.Errorf("dual: NewRealLagrangian: term %d has %d sites, want %d", j, g.Sites(), l.sites)
		}
	}
	if l.sites < 1 {
		return nil, fmt.Errorf("dual: NewRealLagrangian: base has %d sites, want ≥ 1", l.sites)
	}
	return l, nil
}

// Base returns the energy f0.
func (l *RealLagrangian) Base() energy.Scored { return l.base }

// Terms returns a copy of the list of inequalities.
func (l *RealLagrangian) Terms() []energy.Scored { return slices.Clone(l.terms) }

// SetLambda sets the multipliers, as [Lagrangian.SetLambda].
func (l *RealLagrangian) SetLambda(lambda []float64) error {
	check.Len("dual", "lambda", len(lambda), len(l.lambda))
	if err := multiplier.Check("dual: SetLambda", lambda, nil); err != nil {
		return err
	}
	copy(l.lambda, lambda)
	return nil
}

// Energy implements energy.Real at the present multipliers.
func (l *RealLagrangian) Energy(e []float64, x []float32) {
	l.base.Energy(e, x)
	weighted.Scale(e, 1/l.beta)
	b := scratch.Float64s.Get(len(e))
	defer scratch.Float64s.Put(b)
	for j, v := range l.lambda {
		if v != 0 {
			l.terms[j].Energy(*b, x)
			weighted.Add(e, *b, v/l.beta)
		}
	}
}

// Score implements energy.Scored at the present multipliers.
func (l *RealLagrangian) Score(s, x []float32) {
	l.base.Score(s, x)
	weighted.Scale(s, 1/l.beta)
	b := scratch.Float32s.Get(len(s))
	defer scratch.Float32s.Put(b)
	for j, v := range l.lambda {
		if v != 0 {
			l.terms[j].Score(*b, x)
			weighted.Add(s, *b, v/l.beta)
		}
	}
}

// Violation stores g_j(x[s]) in g, states × terms, row-major. It panics where
// lengths do not fit.
func (l *RealLagrangian) Violation(g []float64, x []float32) {
	n := len(l.terms)
	states := len(x) / l.sites
	check.Len("dual", "g", len(g), states*n)
	e := scratch.Float64s.Get(states)
	defer scratch.Float64s.Put(e)
	for j, t := range l.terms {
		t.Energy(*e, x)
		for s, v := range *e {
			g[s*n+j] = v
		}
	}
}

package dual

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// RealLagrangian is the counterpart of [Lagrangian] for states of real numbers. Its energy is
//
//	E(x, λ) = (f0(x) + Σ_j λ_j g_j(x)) / β,
//
// where f0 is the base energy, g_j ≤ 0 are the constraints, λ the multipliers and β the
// temperature. The base and the statistics of the constraints must have scores (negative
// gradients). A RealLagrangian is an energy.Scored and a [Target]. With langevin.Chains as the
// primal, [Inference] is the primal–dual Langevin baseline of Hadou et al. 2026, except that all
// chains share λ.
//
// The multipliers must not change while another goroutine uses the RealLagrangian.
type RealLagrangian struct {
	tilted
	base  energy.Scored
	terms []energy.Scored // energy g_j of each row
	equal []bool
}

// NewRealLagrangian returns the Lagrangian of base and constraints at λ = 0 and temperature beta.
// It returns an error if base is nil, if beta is not positive and finite, or if there are no
// constraints. Constraints must be valid (see [Constraint]), statistics must have scores, and the
// numbers of sites must agree.
func NewRealLagrangian(base energy.Scored, beta float64, constraints ...Constraint[float32]) (*RealLagrangian, error) {
	if check.Nil(base) || len(constraints) == 0 {
		return nil, fmt.Errorf("dual: NewRealLagrangian: base set = %t and %d constraints, want a base and ≥ 1", !check.Nil(base), len(constraints))
	}
	if !(beta > 0) || !check.Finite(beta) || !check.Finite(1/beta) {
		return nil, fmt.Errorf("dual: NewRealLagrangian: beta = %v, want 0 < beta < ∞", beta)
	}
	l := &RealLagrangian{tilted: tilted{sites: base.Sites(), beta: beta}, base: base}
	if l.sites < 1 {
		return nil, fmt.Errorf("dual: NewRealLagrangian: base has %d sites, want ≥ 1", l.sites)
	}
	for k := range constraints {
		c := &constraints[k]
		if err := c.check(c.label(len(l.rows))); err != nil {
			return nil, err
		}
		of := make([]energy.Scored, len(c.Of))
		for i, m := range c.Of {
			var ok bool
			if of[i], ok = m.(energy.Scored); !ok {
				return nil, fmt.Errorf("dual: statistic %d of %s is a %T, want an energy.Scored", i, c.label(len(l.rows)), m)
			}
			if of[i].Sites() != l.sites {
				return nil, fmt.Errorf("dual: statistic %d of %s has %d sites, want %d", i, c.label(len(l.rows)), of[i].Sites(), l.sites)
			}
		}
		for _, r := range c.Rows() {
			l.rows, l.terms = append(l.rows, r), append(l.terms, c.term(r, of))
		}
	}
	l.lambda, l.equal = make([]float64, len(l.rows)), equalities(l.rows)
	return l, nil
}

// term returns the energy g of row r, a combination of the statistics in of. If the statistics
// are linear, the result is a linear energy.
func (c *Constraint[S]) term(r Row, of []energy.Scored) energy.Scored {
	t := &combined{of: of, offset: r.violation(0)}
	for k := range of {
		w := c.coef(k)
		if r.AtLeast {
			w = -w
		}
		t.coef = append(t.coef, w)
	}
	if len(of) == 1 && t.coef[0] == 1 && t.offset == 0 {
		return of[0]
	}
	slope := make([]float64, of[0].Sites())
	constant := []float64{t.offset}
	for k, m := range of {
		linear, ok := m.(*continuous.Linear)
		if !ok {
			return t
		}
		weighted.Add(slope, linear.Slope(), t.coef[k])
		var at [1]float64
		linear.Energy(at[:], make([]float32, len(slope)))
		weighted.Add(constant, at[:], t.coef[k])
	}
	linear, err := continuous.NewLinear(slope, constant[0])
	if err != nil { // the sum overflowed
		return t
	}
	return linear
}

// combined is the energy Σ_k coef[k]·E_k + offset.
type combined struct {
	of     []energy.Scored
	coef   []float64
	offset float64
}

// Sites returns the number of coordinates of a state; it implements energy.Real.
func (c *combined) Sites() int { return c.of[0].Sites() }

// Energy stores in e the energy of each state of x; it implements energy.Real.
func (c *combined) Energy(e []float64, x []float32) {
	b := scratch.Float64s.Get(len(e))
	defer scratch.Float64s.Put(b)
	for s := range e {
		e[s] = c.offset
	}
	for k, m := range c.of {
		m.Energy(*b, x)
		weighted.Add(e, *b, c.coef[k])
	}
}

// Score stores in s the score of each state of x; it implements energy.Scored.
func (c *combined) Score(s, x []float32) {
	b := scratch.Float32s.Get(len(s))
	defer scratch.Float32s.Put(b)
	clear(s)
	for k, m := range c.of {
		m.Score(*b, x)
		simd.AddFinite(s, c.coef[k], *b)
	}
}

// Base returns the base energy f0.
func (l *RealLagrangian) Base() energy.Scored { return l.base }

// Terms returns the constraint functions g_j as energies, one per multiplier.
func (l *RealLagrangian) Terms() []energy.Scored { return slices.Clone(l.terms) }

// SetLambda replaces the multipliers by a copy of lambda. Chains on the RealLagrangian must be
// Reset afterwards. SetLambda returns an error and changes nothing if a multiplier is not finite,
// or if the multiplier of an inequality is negative. It panics if the number of multipliers is
// wrong.
func (l *RealLagrangian) SetLambda(lambda []float64) error {
	check.Len("dual", "lambda", len(lambda), len(l.lambda))
	if err := multiplier.Check("dual: SetLambda", lambda, l.equal); err != nil {
		return err
	}
	copy(l.lambda, lambda)
	return nil
}

// Energy stores in e the energy of each state of x at the present multipliers; it implements
// energy.Real.
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

// Score stores in s the score of each state of x at the present multipliers; it implements
// energy.Scored.
func (l *RealLagrangian) Score(s, x []float32) {
	l.base.Score(s, x)
	weighted.Scale(s, 1/l.beta)
	b := scratch.Float32s.Get(len(s))
	defer scratch.Float32s.Put(b)
	for j, v := range l.lambda {
		if v != 0 {
			l.terms[j].Score(*b, x)
			simd.AddFinite(s, v/l.beta, *b)
		}
	}
}

// Violation stores in g, row-major, the violations g_j of every state of x (states × Len). It
// panics if the lengths do not match.
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

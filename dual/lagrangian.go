package dual

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Lagrangian is the model of the tilted distribution
//
//	E(x, λ) = (f0(x) + Σ_j λ_j g_j(x)) / β,
//
// f0 the energy of the base model, g the inequalities of a set, β the
// temperature (1 unless [Lagrangian.AtTemperature] says otherwise) and λ ≥ 0
// the multipliers, 0 at first: then it is the base model, bit for bit if β = 1.
//
// It supports energy.Differentiable, Binary, Conditional, Local and Graphical
// where the base and the inequalities do, and Ordinal and Supported where the
// base does. Inequalities made of models ([Bounds], constraint.Count, a
// [Modelled] set) support what the models do. Of any other set only values are
// known: its differences are found by evaluation, exactly but at levels
// evaluations per site, and nothing is cached.
//
// g must be finite wherever the base has probability.
//
// A Lagrangian is safe for concurrent use except that SetLambda must not
// overlap with any other method; kernels that work on it must be Reset
// afterwards.
type Lagrangian struct {
	sum           *weighted.Sum
	sites, levels int
	set           constraint.Set

	beta   float64
	lambda []float64
	bounds Bounds // by inequality; without models where only the set can evaluate
	part   [][]int
	values *evaluated // nil if every inequality is made of models
}

// NewLagrangian returns the Lagrangian at β = 1 and λ = 0. It returns an error
// if an argument is nil, the set has no inequalities, or the set cannot be
// written for the base's shape (a constraint.Count that nothing satisfies, a
// model of another shape).
func NewLagrangian(base energy.Model, set constraint.Set) (*Lagrangian, error) {
	if err := weighted.Check("dual: NewLagrangian", "base", base); err != nil {
		return nil, err
	}
	if set == nil {
		return nil, fmt.Errorf("dual: NewLagrangian: set is nil")
	}
	if set.Len() < 1 {
		return nil, fmt.Errorf("dual: NewLagrangian: the set has %d inequalities, want ≥ 1", set.Len())
	}
	l := &Lagrangian{sum: weighted.New(base), set: set, beta: 1, lambda: make([]float64, set.Len())}
	l.sites, l.levels = base.Shape()
	var err error
	if l.bounds, err = split(set, l.sites, l.levels); err != nil {
		return nil, fmt.Errorf("dual: NewLagrangian: %w", err)
	}
	l.part = make([][]int, len(l.bounds))
	for j, b := range l.bounds {
		for _, m := range b.Models {
			l.part[j] = append(l.part[j], l.sum.Append(m))
		}
		if len(b.Models) == 0 && l.values == nil {
			l.values = &evaluated{set, make([]float64, set.Len()), l.sites, l.levels}
		}
	}
	if l.values != nil {
		l.sum.Append(l.values)
	}
	l.sum.Unite()
	l.update()
	return l, nil
}

// AtTemperature returns a Lagrangian of the same base, set and multipliers at
// the temperature beta; the two do not share λ. It returns an error unless
// beta is positive and finite.
func (l *Lagrangian) AtTemperature(beta float64) (*Lagrangian, error) {
	if !(beta > 0) || !check.Finite(beta) || !check.Finite(1/beta) {
		return nil, fmt.Errorf("dual: AtTemperature: beta = %v, want 0 < beta < ∞", beta)
	}
	n, err := NewLagrangian(l.sum.Base(), l.set)
	if err != nil {
		return nil, err
	}
	n.beta = beta
	return n, n.SetLambda(l.lambda)
}

// Shape returns the shape of the base.
func (l *Lagrangian) Shape() (sites, levels int) { return l.sites, l.levels }

// Energy implements energy.Model at the present multipliers.
func (l *Lagrangian) Energy(e []float64, x []int32) { l.sum.Energy(e, x) }

// As answers as energy.As asks.
func (l *Lagrangian) As(target any) bool { return l.sum.As(target) }

// Len returns the number of inequalities, hence of multipliers.
func (l *Lagrangian) Len() int { return len(l.lambda) }

// Sites returns the number of sites of a state.
func (l *Lagrangian) Sites() int { return l.sites }

// Beta returns the temperature.
func (l *Lagrangian) Beta() float64 { return l.beta }

// Base returns the model of f0.
func (l *Lagrangian) Base() energy.Model { return l.sum.Base() }

// Lambda returns a copy of the multipliers.
func (l *Lagrangian) Lambda() []float64 { return slices.Clone(l.lambda) }

// SetLambda sets the multipliers; see [Lagrangian] for what must follow. It
// returns an error, and changes nothing, unless every multiplier is finite and
// ≥ 0. It panics unless there is one per inequality.
func (l *Lagrangian) SetLambda(lambda []float64) error {
	check.Len("dual", "lambda", len(lambda), len(l.lambda))
	if err := multiplier.Check("dual: SetLambda", lambda); err != nil {
		return err
	}
	copy(l.lambda, lambda)
	l.update()
	return nil
}

// update brings the coefficients of the parts up to date with λ.
func (l *Lagrangian) update() {
	clear(l.sum.Coef)
	l.sum.Coef[0] = 1 / l.beta
	l.sum.Offset = 0
	for j, v := range l.lambda {
		w := v / l.beta
		if len(l.part[j]) == 0 {
			l.values.weight[j] = w
			if w != 0 {
				l.sum.Coef[len(l.sum.Coef)-1] = 1
			}
			continue
		}
		l.sum.Offset += float64(w * l.bounds[j].Offset)
		for k, part := range l.part[j] {
			l.sum.Coef[part] += float64(w * l.bounds[j].coef(k))
		}
	}
}

// Violation stores g_j(x[s]) in g, states × inequalities, row-major. It panics
// where lengths do not fit.
func (l *Lagrangian) Violation(g []float64, x []int32) {
	check.Len("dual", "g", len(g), len(x)/l.sites*len(l.lambda))
	l.set.Violation(g, x)
}

// Dual returns the dual value D(λ) = −β log Σ_x exp(−(f0 + λᵀg)/β) by
// enumeration; it is a lower bound on the optimum of the constrained problem,
// whatever λ ≥ 0 is. Unlike other methods it works at the given λ. Errors are
// those of energy.Enumerate and SetLambda.
func (l *Lagrangian) Dual(ctx context.Context, lambda []float64) (float64, error) {
	at, err := l.AtTemperature(l.beta)
	if err == nil {
		err = at.SetLambda(lambda)
	}
	if err != nil {
		return 0, err
	}
	sum, err := energy.Enumerate(ctx, at)
	if err != nil {
		return 0, fmt.Errorf("dual: Dual: %w", err)
	}
	return -l.beta * sum.LogZ, nil
}

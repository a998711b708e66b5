package dual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
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
	equal  []bool // nil without equalities

	language *trellis.Graph // nil: every state

	sitewise *weighted.Sitewise // models that are sums over sites, if there are several
	merged   int                // its part of the sum
	values   *evaluated         // nil if every inequality is made of models
}

// NewLagrangian returns the Lagrangian at β = 1 and λ = 0. It returns an error
// if an argument is nil, the set has no inequalities, or the set cannot be
// written for the base's shape (a constraint.Count that nothing satisfies, a
// model of another shape).
func NewLagrangian(base energy.Model, set constraint.Set) (*Lagrangian, error) {
	if _, _, err := check.Model("dual", "NewLagrangian", "base", base); err != nil {
		return nil, err
	}
	if check.Nil(set) {
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
	l.merge()
	l.part = make([][]int, len(l.bounds))
	for j, b := range l.bounds {
		if b.Equal && l.equal == nil {
			l.equal = make([]bool, len(l.bounds))
		}
		if b.Equal {
			l.equal[j] = true
		}
		for _, m := range b.Models {
			l.part[j] = append(l.part[j], l.partOf(m))
		}
		if len(b.Models) == 0 && l.values == nil {
			l.values = &evaluated{set, make([]float64, set.Len()), l.sites, l.levels}
		}
	}
	if l.sitewise != nil {
		l.merged = weighted.Append(l.sum, l.sitewise)
	}
	if l.values != nil {
		weighted.Append(l.sum, l.values)
	}
	weighted.Unite(l.sum)
	l.update()
	return l, nil
}

// merge gathers the models that are sums over sites, so that a sweep costs the same
// however many they are. A single one stays the part that it is.
func (l *Lagrangian) merge() {
	w := weighted.NewSitewise(l.sites, l.levels)
	for _, b := range l.bounds {
		for _, m := range b.Models {
			w.Append(m)
		}
	}
	if len(w.Coef) > 1 {
		l.sitewise = w
	}
}

// partOf returns the part of the sum that m is, or −1 − its number among the merged
// models.
func (l *Lagrangian) partOf(m energy.Model) int {
	if l.sitewise != nil {
		if k, ok := l.sitewise.Append(m); ok {
			return -1 - k
		}
	}
	return weighted.Append(l.sum, m)
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
	n.beta, n.language = beta, l.language
	return n, n.SetLambda(l.lambda)
}

// Within says that the samples stay in a language, as the kernels of package mcmc
// with that Within do: [Lagrangian.Margin], [Lagrangian.Dual] and [Solve] then
// look at its states only, so that means which no mixture of them has are proven
// infeasible. The energy does not change. It returns an error for a nil language
// or one that has no sequence of the base's shape (constraint.ErrInfeasible).
func (l *Lagrangian) Within(ctx context.Context, a constraint.Language) error {
	if err := automata.Validate(a); err != nil {
		return fmt.Errorf("dual: Within: %w", err)
	}
	rest, mask := constraint.Split(a)
	cfg := trellis.Config{Sites: l.sites, Levels: l.levels}
	if mask != nil {
		cfg.Allows = mask.Allows
	}
	g, err := trellis.Compile(ctx, rest, cfg)
	var dead *trellis.DeadError
	switch {
	case errors.As(err, &dead):
		return fmt.Errorf("dual: Within: no sequence of %d sites (dead at site %d): %w", l.sites, dead.Site, constraint.ErrInfeasible)
	case err != nil:
		return fmt.Errorf("dual: Within: %w", err)
	}
	l.language = g
	return nil
}

// each calls f with the energy and the violations of every state of the language.
func (l *Lagrangian) each(ctx context.Context, f func(f0 float64, g []float64) error) error {
	return eachState(ctx, l.Base(), l.set, func(x []int32, f0 float64, g []float64) error {
		if l.language != nil && !l.language.Accepts(x) {
			return nil
		}
		return f(f0, g)
	})
}

// Shape returns the shape of the base.
func (l *Lagrangian) Shape() (sites, levels int) { return l.sites, l.levels }

// Energy implements energy.Model at the present multipliers.
func (l *Lagrangian) Energy(e []float64, x []int32) { l.sum.Energy(e, x) }

// As answers as energy.As asks.
func (l *Lagrangian) As(target any) bool { return l.sum.As(target) }

// Len returns the number of inequalities, hence of multipliers.
func (l *Lagrangian) Len() int { return len(l.lambda) }

// Equal returns which rows are equalities E[g_j] = 0 ([Bound.Equal]), nil if none
// is.
func (l *Lagrangian) Equal() []bool { return slices.Clone(l.equal) }

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
// ≥ 0, or of either sign in a row of [Lagrangian.Equal]. It panics unless there
// is one per inequality.
func (l *Lagrangian) SetLambda(lambda []float64) error {
	check.Len("dual", "lambda", len(lambda), len(l.lambda))
	if err := multiplier.Check("dual: SetLambda", lambda, l.equal); err != nil {
		return err
	}
	copy(l.lambda, lambda)
	l.update()
	return nil
}

// update brings the coefficients of the parts up to date with λ.
func (l *Lagrangian) update() {
	clear(l.sum.Coef)
	if l.sitewise != nil {
		clear(l.sitewise.Coef)
	}
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
			c := float64(w * l.bounds[j].coef(k))
			if part < 0 {
				l.sitewise.Coef[-1-part] += c
				continue
			}
			l.sum.Coef[part] += c
		}
	}
	if l.sitewise != nil && slices.ContainsFunc(l.sitewise.Coef, func(c float64) bool { return c != 0 }) {
		l.sitewise.Update()
		l.sum.Coef[l.merged] = 1
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
// those of energy.Enumerate and SetLambda, and within a language more than 2²²
// states.
func (l *Lagrangian) Dual(ctx context.Context, lambda []float64) (float64, error) {
	at, err := l.AtTemperature(l.beta)
	if err == nil {
		err = at.SetLambda(lambda)
	}
	if err != nil {
		return 0, err
	}
	if l.language != nil {
		return at.dualWithin(ctx)
	}
	sum, err := energy.Enumerate(ctx, at)
	if err != nil {
		return 0, fmt.Errorf("dual: Dual: %w", err)
	}
	return -l.beta * sum.LogZ, nil
}

// dualWithin is Dual at the present multipliers over the language.
func (l *Lagrangian) dualWithin(ctx context.Context) (float64, error) {
	if countStates(l.sites, l.levels, maxStates) < 0 {
		return 0, fmt.Errorf("dual: Dual: %d sites of %d levels have more than %d states", l.sites, l.levels, maxStates)
	}
	var w []float64
	err := l.each(ctx, func(f0 float64, g []float64) error {
		if !math.IsInf(f0, 1) {
			w = append(w, -(f0+weighted.Dot(l.lambda, g))/l.beta)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(w) == 0 {
		return 0, fmt.Errorf("dual: Dual: every state of the language has energy +Inf")
	}
	return -l.beta * tilt.Normalize(w), nil
}

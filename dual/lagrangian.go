package dual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Lagrangian is an energy model: a base model plus constraints, weighted by multipliers,
//
//	E(x, λ) = (f0(x) + Σ_j λ_j g_j(x)) / β.
//
// Here f0 is the energy of the base model, and g_j ≤ 0 are the inequalities of the constraints. The
// temperature β is 1 unless set by [Lagrangian.AtTemperature]. The multipliers λ ≥ 0 are initially
// 0. At λ = 0 and β = 1 the energy equals f0, bit for bit. The values g_j must be finite wherever
// the base has positive probability.
//
// A Lagrangian is an energy.Affine whose weights change (see energy.Varying), and supports the same
// optional interfaces. Inequalities made of models ([Constraint], constraint.Count, a [Modelled]
// set) support the interfaces of these models. For other sets, energy differences are exact but
// slow: each site takes one evaluation per level.
//
// SetLambda must not run concurrently with any other method; all others may. MCMC kernels that
// sample the Lagrangian must be Reset after SetLambda. [Inference] takes care of both. Two loops
// must not share a Lagrangian.
type Lagrangian struct {
	tilted
	levels int
	base   energy.Model
	sum    *energy.Affine                         // weighted sum of the base and the statistics
	weigh  func(weight []float64, offset float64) // sets the weights of sum
	sets   []constraint.Set
	set    constraint.Set // all sets joined

	bounds []bound // one bound per row
	part   [][]int
	equal  []bool // marks the equalities; nil if there are none

	language *trellis.Graph // support restricted by Within; nil means every state

	weight []float64 // weights of the parts of sum
	// models that are sums over sites, merged into one part of sum; nil if there are fewer
	// than two
	merged *sitewise
	// last part of sum, for inequalities that are not made of models; nil if there are none
	values *values
}

// tilted holds the fields and methods shared by [Lagrangian] and [RealLagrangian].
type tilted struct {
	sites  int
	beta   float64
	lambda []float64
	rows   []Row
}

// Len returns the number of inequalities, which is the number of multipliers.
func (t *tilted) Len() int { return len(t.lambda) }

// Sites returns the number of sites of a state.
func (t *tilted) Sites() int { return t.sites }

// Beta returns the temperature β, the divisor in E(x, λ).
func (t *tilted) Beta() float64 { return t.beta }

// Rows returns a description of every inequality, one per multiplier.
func (t *tilted) Rows() []Row { return slices.Clone(t.rows) }

// Lambda returns a copy of the multipliers.
func (t *tilted) Lambda() []float64 { return slices.Clone(t.lambda) }

// NewLagrangian returns the Lagrangian of a base model at β = 1 and λ = 0. Its inequalities are the
// inequalities of all given sets, in order. NewLagrangian returns an error if an argument is nil or
// there are no inequalities. It also returns an error if a set does not fit the shape of the base,
// or if one of the sets is a constraint.Count that no state of this shape satisfies.
func NewLagrangian(base energy.Model, sets ...constraint.Set) (*Lagrangian, error) {
	sites, levels, err := check.Model("dual", "NewLagrangian", "base", base)
	if err != nil {
		return nil, err
	}
	l := &Lagrangian{tilted: tilted{sites: sites, beta: 1}, levels: levels, base: base, sets: slices.Clone(sets)}
	if l.bounds, err = split(sets, l.sites, l.levels); err != nil {
		return nil, fmt.Errorf("dual: NewLagrangian: %w", err)
	}
	if len(l.bounds) == 0 {
		return nil, fmt.Errorf("dual: NewLagrangian: %d sets with 0 inequalities, want ≥ 1", len(sets))
	}
	if l.set = joined(l.sets); len(sets) == 1 {
		l.set = sets[0]
	}
	for _, b := range l.bounds {
		l.rows = append(l.rows, b.Row)
	}
	l.lambda, l.equal = make([]float64, len(l.rows)), equalities(l.rows)
	if l.merged = newSitewise(l.bounds, l.sites, l.levels); len(l.merged.models) < 2 {
		l.merged = nil // a single model is not merged
	}
	var statistics []energy.Model
	l.part = make([][]int, len(l.bounds))
	for j, b := range l.bounds {
		for _, m := range b.models {
			k := -1
			if l.merged != nil {
				k = find(l.merged.models, m)
			}
			if k >= 0 {
				l.part[j] = append(l.part[j], -1-k)
				continue
			}
			if k = find(statistics, m); k < 0 {
				k, statistics = len(statistics), append(statistics, m)
			}
			l.part[j] = append(l.part[j], 1+k)
		}
		if len(b.models) == 0 && l.values == nil {
			l.values = &values{l.set, make([]float64, len(l.bounds)), l.sites, l.levels}
		}
	}
	if l.merged != nil {
		statistics = append(statistics, l.merged)
	}
	if l.values != nil {
		statistics = append(statistics, evaluated{energy.Differences(l.values), l.levels})
	}
	l.weight = make([]float64, 1+len(statistics))
	if l.sum, l.weigh, err = energy.NewAffine(base, statistics...); err != nil {
		return nil, fmt.Errorf("dual: NewLagrangian: %w", err)
	}
	return l, nil
}

// find returns the index of m in a list of models, or −1 if m is not in the list or cannot be
// compared.
func find(models []energy.Model, m energy.Model) int {
	if !reflect.TypeOf(m).Comparable() {
		return -1
	}
	return slices.Index(models, m)
}

// sitewise is the weighted sum of several models, each a sum over sites, as one model. The sum
// costs as much as a single one of the models.
type sitewise struct {
	*model.Independent // the current sum; update replaces it
	models             []energy.Model
	// for each model: its energy at the zero state, then the amount that each level of each
	// site adds
	tables  [][]float64
	version uint64
}

// maxTables is the largest total number of table entries for which models are merged: 128 MiB.
const maxTables = 1 << 24

// newSitewise merges the models of bounds that are sums over sites and have only finite entries.
func newSitewise(bounds []bound, sites, levels int) *sitewise {
	w := &sitewise{Independent: new(model.Independent)}
	for _, b := range bounds {
		for _, m := range b.models {
			if find(w.models, m) >= 0 || (len(w.tables)+1)*(1+sites*levels) > maxTables {
				continue
			}
			if t, ok := tableOf(m); ok && check.AllFinite(t) {
				w.models, w.tables = append(w.models, m), append(w.tables, t)
			}
		}
	}
	if len(w.models) > 0 {
		_ = w.update(make([]float64, len(w.models)), levels) // zeros are finite
	}
	return w
}

// tableOf returns the table t of a model that is a sum over sites. The table holds the energy at
// the zero state, then the amount that each level of each site adds. For any other model the result
// ok is false.
func tableOf(m energy.Model) (t []float64, ok bool) {
	g, graphical := energy.As[energy.Graphical](m)
	c, conditional := energy.As[energy.Conditional](m)
	if !graphical || !conditional {
		return nil, false
	}
	if _, adj := g.Graph(); len(adj) > 0 {
		return nil, false
	}
	sites, levels := m.Shape()
	t = make([]float64, 1+sites*levels)
	x := make([]int32, sites)
	m.Energy(t[:1], x)
	for i := range x {
		c.Conditional(t[1+i*levels:1+(i+1)*levels], i, x)
	}
	return t, true
}

// update computes the weighted sum of the models, without their energies at the zero state.
func (w *sitewise) update(weight []float64, levels int) error {
	total := make([]float64, len(w.tables[0]))
	for k, c := range weight {
		if c != 0 {
			for i, v := range w.tables[k] {
				total[i] += float64(c * v)
			}
		}
	}
	for i := range total {
		total[i] = 0 - total[i]
	}
	m, err := model.NewIndependent(total[1:], levels)
	if err == nil {
		*w.Independent = *m
		w.version++
	}
	return err
}

// Version returns the number of changes of the multipliers so far; it implements [energy.Varying].
func (w *sitewise) Version() uint64 { return w.version }

// Now returns an immutable copy of the Lagrangian, with its present multipliers; it implements
// [energy.Varying].
func (w *sitewise) Now() energy.Model {
	m := *w.Independent
	return &m
}

// AtTemperature returns a Lagrangian with the same base, sets and multipliers at the temperature
// beta. The two Lagrangians do not share λ. AtTemperature returns an error unless beta is
// positive and finite.
func (l *Lagrangian) AtTemperature(beta float64) (*Lagrangian, error) {
	if !(beta > 0) || !check.Finite(beta) || !check.Finite(1/beta) {
		return nil, fmt.Errorf("dual: AtTemperature: beta = %v, want 0 < beta < ∞", beta)
	}
	n, err := NewLagrangian(l.base, l.sets...)
	if err != nil {
		return nil, err
	}
	n.beta, n.language = beta, l.language
	return n, n.SetLambda(l.lambda)
}

// Within declares that all samples are sequences of the given language. Call it if the option
// Within of a method in package mcmc confines the chains to this language. [Lagrangian.Margin],
// [Lagrangian.Dual] and [Solve] then consider only sequences of the language. The energy does not
// change. Within returns an error for a nil language, or constraint.ErrInfeasible if the language
// has no sequence of the base's shape.
func (l *Lagrangian) Within(ctx context.Context, a constraint.Language) error {
	g, err := trellis.Unroll(ctx, "dual: Within", a, l.sites, l.levels)
	if err == nil {
		l.language = g
	}
	return err
}

// each calls f for every state in both the support of the base and the language, with the energy
// and the violations of the state.
func (l *Lagrangian) each(ctx context.Context, who string, f func(f0 float64, g []float64)) error {
	return eachState(ctx, who, l.base, l.set, func(x []int32, f0 float64, g []float64) {
		if !math.IsInf(f0, 1) && (l.language == nil || l.language.Accepts(x)) {
			f(f0, g)
		}
	})
}

// Shape returns the numbers of sites and levels of the base model.
func (l *Lagrangian) Shape() (sites, levels int) { return l.sites, l.levels }

// Energy stores in e the energies of the states x at the present multipliers; it implements
// energy.Model.
func (l *Lagrangian) Energy(e []float64, x []int32) { l.sum.Energy(e, x) }

// As gives access to optional interfaces of package energy, such as energy.Incremental. It supports
// the same interfaces as the weighted sum of the base model and the inequalities (see
// energy.Affine). It implements energy.Capable.
func (l *Lagrangian) As(target any) bool { return l.sum.As(target) }

// Base returns the base model, whose energy is f0.
func (l *Lagrangian) Base() energy.Model { return l.base }

// SetLambda sets the multipliers. MCMC kernels that sample the Lagrangian must be Reset afterwards.
// SetLambda returns an error and changes nothing if a multiplier is not finite, or if the
// multiplier of an inequality is negative. It panics unless len(lambda) is the number of
// inequalities.
func (l *Lagrangian) SetLambda(lambda []float64) error {
	check.Len("dual", "lambda", len(lambda), len(l.lambda))
	if err := multiplier.Check("dual: SetLambda", lambda, l.equal); err != nil {
		return err
	}
	before := slices.Clone(l.lambda)
	copy(l.lambda, lambda)
	if err := l.update(); err != nil {
		copy(l.lambda, before)
		return errors.Join(fmt.Errorf("dual: SetLambda: %w", err), l.update())
	}
	return nil
}

// update recomputes the weights of the parts of the sum from λ.
func (l *Lagrangian) update() error {
	clear(l.weight)
	l.weight[0] = 1 / l.beta
	offset := 0.0
	var merged []float64 // weights of the merged models
	if l.merged != nil {
		merged = make([]float64, len(l.merged.models))
	}
	for j, v := range l.lambda {
		w := v / l.beta
		if len(l.part[j]) == 0 {
			l.values.weight[j] = w
			if w != 0 {
				l.weight[len(l.weight)-1] = 1
			}
			continue
		}
		offset += float64(w * l.bounds[j].offset)
		for k, part := range l.part[j] {
			c := float64(w * l.bounds[j].coef[k])
			if part < 0 {
				merged[-1-part] += c
				continue
			}
			l.weight[part] += c
		}
	}
	if slices.ContainsFunc(merged, func(c float64) bool { return c != 0 }) {
		if err := l.merged.update(merged, l.levels); err != nil {
			return err
		}
		for k, c := range merged {
			offset += float64(c * l.merged.tables[k][0])
		}
		at := len(l.weight) - 1
		if l.values != nil {
			at--
		}
		l.weight[at] = 1
	}
	l.weigh(l.weight, offset)
	return nil
}

// Violation stores in g the violations g_j of every state of x, row-major (states × inequalities).
// It panics if the lengths do not match.
func (l *Lagrangian) Violation(g []float64, x []int32) {
	check.Len("dual", "g", len(g), len(x)/l.sites*len(l.lambda))
	l.set.Violation(g, x)
}

// Dual returns the dual value at the given λ, by enumeration:
//
//	D(λ) = −β log Σ_x exp(−(f0(x) + λᵀg(x))/β).
//
// For every λ ≥ 0 it is a lower bound on the optimum of the constrained problem. Dual returns the
// same errors as energy.Enumerate and SetLambda. After [Lagrangian.Within] it also returns an error
// for more than 2²² states.
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

// dualWithin returns the dual value at the present multipliers, summed over the language.
func (l *Lagrangian) dualWithin(ctx context.Context) (float64, error) {
	var w []float64
	if err := l.each(ctx, "Dual", func(f0 float64, g []float64) { w = append(w, -(f0+weighted.Dot(l.lambda, g))/l.beta) }); err != nil {
		return 0, err
	}
	if len(w) == 0 {
		return 0, fmt.Errorf("dual: Dual: every state of the language has energy +Inf")
	}
	return -l.beta * tilt.Normalize(w), nil
}

// Margin returns the minimum of uᵀg(x) over the states x, or a lower bound on it. Here g are the
// violations, and u holds one weight per multiplier, with u_j ≥ 0 for inequalities. A positive
// margin proves that no distribution satisfies the constraints.
//
// If the inequalities are sums over sites, the minimum is over all states. The result is then a
// lower bound, because states of probability zero are included. Otherwise the minimum is over the
// states of positive probability, and ok is false if the base has more than 2²² states. After
// [Lagrangian.Within], both minima are over the language only.
//
// Margin returns an error if an evaluation gives NaN or ctx ends.
func (l *Lagrangian) Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error) {
	check.Len("dual", "u", len(u), len(l.lambda))
	if low, total, ok := l.separable(u); ok {
		margin, err = l.cheapest(low, total)
		return margin, err == nil && check.Finite(margin), err
	}
	if countStates(l.sites, l.levels) < 0 {
		return 0, false, nil
	}
	margin = math.Inf(1)
	err = l.each(ctx, "Margin", func(_ float64, g []float64) { margin = min(margin, weighted.Dot(u, g)) })
	return margin, err == nil, err
}

// separable writes uᵀg as low + Σ_i total[i, x_i] and returns low and total. The result ok is false
// if the model of a row couples sites, or if a row is not made of models.
func (l *Lagrangian) separable(u []float64) (low float64, total []float64, ok bool) {
	total = make([]float64, l.sites*l.levels)
	for j, w := range u {
		if w == 0 {
			continue
		}
		if len(l.part[j]) == 0 {
			return 0, nil, false
		}
		low += float64(w * l.bounds[j].offset)
		for k, m := range l.bounds[j].models {
			t, ok := tableOf(m)
			if !ok {
				return 0, nil, false
			}
			scale := w * l.bounds[j].coef[k]
			low += float64(scale * t[0])
			weighted.Add(total, t[1:], scale)
		}
	}
	return low, total, true
}

// cheapest returns low plus the smallest sum of one entry of total per site. If there is a
// language, only its sequences count.
func (l *Lagrangian) cheapest(low float64, total []float64) (float64, error) {
	if l.language != nil {
		least, err := trellis.NewRunner(l.language).Cheapest(make([]int32, l.sites), total)
		return low + least, err
	}
	for i := range l.sites {
		low += slices.Min(total[i*l.levels : (i+1)*l.levels])
	}
	return low, nil
}

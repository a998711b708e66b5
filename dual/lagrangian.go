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

// Lagrangian is the model of the tilted distribution
//
//	E(x, λ) = (f0(x) + Σ_j λ_j g_j(x)) / β,
//
// where f0 is the energy of the base model, g are the rows of the constraints, β is the
// temperature (1 unless set by [Lagrangian.AtTemperature]) and λ ≥ 0 are the multipliers,
// initially 0. At λ = 0 and β = 1 it equals the base model, bit for bit.
//
// It is an energy.Affine of the base and the inequalities, with changing weights, and
// supports what energy.Affine supports. Inequalities made of models ([Constraint],
// constraint.Count, a [Modelled] set) support what the models support. For instance, a
// torus under a constraint.Count is a torus at every λ, and kernels for tori accept it: see
// energy.Varying. Any other set only has values: its differences are computed exactly, by
// one evaluation per level at each site, without a cache.
//
// g must be finite wherever the base has probability.
//
// A Lagrangian is safe for concurrent use, except that SetLambda must not run concurrently
// with any other method, and kernels on the Lagrangian must be Reset after it. [Inference]
// takes care of both. Two loops must not share a Lagrangian.
type Lagrangian struct {
	tilted
	levels int
	base   energy.Model
	sum    *energy.Affine                         // of the base and statistics
	weigh  func(weight []float64, offset float64) // sets its weights
	sets   []constraint.Set
	set    constraint.Set // all of them

	bounds []bound // by row
	part   [][]int
	equal  []bool // nil without equalities

	language *trellis.Graph // nil: every state

	weight []float64 // of the parts of the sum
	merged *sitewise // the last part of the sum but values: models that are sums over sites; nil unless there are several
	values *values   // the last part, with differences by evaluation; nil if every inequality is made of models
}

// tilted is what targets have in common.
type tilted struct {
	sites  int
	beta   float64
	lambda []float64
	rows   []Row
}

// Len returns the number of inequalities, hence of multipliers.
func (t *tilted) Len() int { return len(t.lambda) }

// Sites returns the number of sites of a state.
func (t *tilted) Sites() int { return t.sites }

// Beta returns the temperature.
func (t *tilted) Beta() float64 { return t.beta }

// Rows returns what the rows mean, one per multiplier.
func (t *tilted) Rows() []Row { return slices.Clone(t.rows) }

// Lambda returns a copy of the multipliers.
func (t *tilted) Lambda() []float64 { return slices.Clone(t.lambda) }

// NewLagrangian returns the Lagrangian of all rows of the given sets, in order, at β = 1
// and λ = 0. It returns an error if an argument is nil, there are no rows, or a set does
// not fit the base's shape (for instance, a constraint.Count that no state satisfies, or a
// model of another shape).
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
		l.merged = nil // a single one stays the part that it is
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

// find returns the number of m in a list, −1 if it is not there or cannot be compared.
func find(models []energy.Model, m energy.Model) int {
	if !reflect.TypeOf(m).Comparable() {
		return -1
	}
	return slices.Index(models, m)
}

// sitewise is the weighted sum of models that are sums over sites, as one model. However
// many there are, it costs as much as one.
type sitewise struct {
	*model.Independent // replaced by update
	models             []energy.Model
	tables             [][]float64 // of each: its energy at zeros, then what the levels of each site add
	version            uint64
}

// maxTables is the number of table entries up to which models are merged, 128 MiB.
const maxTables = 1 << 24

// newSitewise merges those of the models of bounds that are sums over sites of finite numbers.
func newSitewise(bounds []bound, sites, levels int) *sitewise {
	w := &sitewise{Independent: new(model.Independent)}
	for _, b := range bounds {
		for _, m := range b.models {
			if find(w.models, m) >= 0 || (len(w.tables)+1)*(1+sites*levels) > maxTables {
				continue
			}
			if t, ok := tableOf(m); ok && !slices.ContainsFunc(t, func(v float64) bool { return !check.Finite(v) }) {
				w.models, w.tables = append(w.models, m), append(w.tables, t)
			}
		}
	}
	if len(w.models) > 0 {
		_ = w.update(make([]float64, len(w.models)), levels) // zeros are finite
	}
	return w
}

// tableOf returns the energy of a sum over sites at zeros, and what the levels of each site
// add to it; false for another model.
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

// update computes the weighted sum of the models, except for the energy at zeros.
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

// Version implements [energy.Varying].
func (w *sitewise) Version() uint64 { return w.version }

// Now implements [energy.Varying].
func (w *sitewise) Now() energy.Model {
	m := *w.Independent
	return &m
}

// AtTemperature returns a Lagrangian with the same base, sets and multipliers at the
// temperature beta; the two do not share λ. It returns an error unless beta is positive and
// finite.
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

// Within declares that all samples are in a language, as with the kernels of package mcmc
// that have the same Within. [Lagrangian.Margin], [Lagrangian.Dual] and [Solve] then
// consider only states of the language, and can prove means infeasible that no mixture of
// these states has. The energy does not change. It returns an error for a nil language or
// one without a sequence of the base's shape (constraint.ErrInfeasible).
func (l *Lagrangian) Within(ctx context.Context, a constraint.Language) error {
	g, err := trellis.Unroll(ctx, "dual: Within", a, l.sites, l.levels)
	if err == nil {
		l.language = g
	}
	return err
}

// each calls f with the energy and the violations of every state of the support, within
// the language.
func (l *Lagrangian) each(ctx context.Context, who string, f func(f0 float64, g []float64)) error {
	return eachState(ctx, who, l.base, l.set, func(x []int32, f0 float64, g []float64) {
		if !math.IsInf(f0, 1) && (l.language == nil || l.language.Accepts(x)) {
			f(f0, g)
		}
	})
}

// Shape returns the shape of the base.
func (l *Lagrangian) Shape() (sites, levels int) { return l.sites, l.levels }

// Energy implements energy.Model at the present multipliers.
func (l *Lagrangian) Energy(e []float64, x []int32) { l.sum.Energy(e, x) }

// As implements energy.Capable.
func (l *Lagrangian) As(target any) bool { return l.sum.As(target) }

// Base returns the model of f0.
func (l *Lagrangian) Base() energy.Model { return l.base }

// SetLambda sets the multipliers. Kernels on l must be Reset afterwards. Multipliers must
// be finite and, except for equalities, ≥ 0; otherwise SetLambda returns an error and
// changes nothing. It panics unless len(lambda) is the number of inequalities.
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

// update updates the weights of the parts from λ.
func (l *Lagrangian) update() error {
	clear(l.weight)
	l.weight[0] = 1 / l.beta
	offset := 0.0
	var merged []float64 // of the merged models
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

// Violation stores g_j(x[s]) in g, states × inequalities, row-major. It panics if the
// lengths do not match.
func (l *Lagrangian) Violation(g []float64, x []int32) {
	check.Len("dual", "g", len(g), len(x)/l.sites*len(l.lambda))
	l.set.Violation(g, x)
}

// Dual returns the dual value D(λ) = −β log Σ_x exp(−(f0 + λᵀg)/β) by enumeration, which is
// a lower bound on the optimum of the constrained problem for every λ ≥ 0. Unlike other
// methods, it uses the given λ, not the present one. It returns the errors of
// energy.Enumerate and SetLambda, and an error if a language has more than 2²² states.
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
	var w []float64
	if err := l.each(ctx, "Dual", func(f0 float64, g []float64) { w = append(w, -(f0+weighted.Dot(l.lambda, g))/l.beta) }); err != nil {
		return 0, err
	}
	if len(w) == 0 {
		return 0, fmt.Errorf("dual: Dual: every state of the language has energy +Inf")
	}
	return -l.beta * tilt.Normalize(w), nil
}

// Margin returns min_x uᵀg(x), where u_j ≥ 0 for inequalities. If the inequalities are sums
// over sites, the result is a lower bound: the minimum over the support of the base, or
// over the language of [Lagrangian.Within]. Otherwise, if the base has at most 2²² states,
// it is the minimum over states in both. Otherwise ok is false. A positive margin proves
// that no distribution satisfies the constraints.
//
// It returns an error if an evaluation gives NaN or the context ends.
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

// separable writes uᵀg as low + Σ_i total[i, x_i] if no model couples sites.
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

// cheapest returns low plus the least sum of one entry per site, in the language
// if there is one.
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

package dual

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Constraint bounds the mean of a quantity h:
//
//	Low ≤ E[h(x)] ≤ High,  h(x) = Σ_k Coef[k]·E_k(x),
//
// where E_k is the energy of the statistic Of[k]. A statistic is a model or a function of the
// state. [AtMost], [AtLeast] and [Between] make constraints. −Inf and +Inf mean no bound, but one
// bound must be finite. Low must be ≤ High. At least one statistic is required.
//
// A constraint has one Lagrange multiplier and one [Row] for each finite bound. High comes before
// Low. If Low = High, the constraint is an equality with one multiplier, which may have either
// sign.
//
// On tokens (S = int32), a statistic may be any energy.Model or a function (see [Statistic]). If
// all are models, a [Lagrangian] supports the interfaces that the base and the models support.
// Energies must be finite wherever the base has positive probability. On reals (S = float32),
// statistics are energies with scores (energy.Scored).
//
// As a constraint.Set, a Constraint bounds the value h(x) of each single state instead of the mean.
// An equality h = b then becomes h(x) ≤ b.
type Constraint[S energy.Site] struct {
	Name      string  // name in errors, certificates and reports
	Unit      string  // unit of the bounded quantity h, such as "kW"
	Tolerance float64 // largest amount by which the mean may miss a bound (see [Row])
	Of        []Energetic[S]
	Coef      []float64 // one finite coefficient per entry of Of; nil means all 1
	Low, High float64
}

// AtMost returns the constraint E[h] ≤ b, where h is the energy of m.
func AtMost[S energy.Site](m Energetic[S], b float64) Constraint[S] {
	return Between(m, math.Inf(-1), b)
}

// AtLeast returns the constraint E[h] ≥ b, where h is the energy of m.
func AtLeast[S energy.Site](m Energetic[S], b float64) Constraint[S] {
	return Between(m, b, math.Inf(1))
}

// Between returns the constraint low ≤ E[h] ≤ high, where h is the energy of m. If low = high, it
// is the equality E[h] = low.
func Between[S energy.Site](m Energetic[S], low, high float64) Constraint[S] {
	return Constraint[S]{Of: []Energetic[S]{m}, Low: low, High: high}
}

// Named returns a copy of c with a name, a unit ("" for none) and a tolerance. If the tolerance is
// 0, the tolerance passed to methods such as [Certificate.Report] applies.
func (c Constraint[S]) Named(name, unit string, tolerance float64) Constraint[S] {
	c.Name, c.Unit, c.Tolerance = name, unit, tolerance
	return c
}

// Statistic returns the function f of one state as a statistic of a [Constraint], for states of any
// shape. The function must depend on x alone, be safe for concurrent calls, and not modify or keep
// x. Statistic returns nil if f is nil.
func Statistic(f func(x []int32) float64) Energetic[int32] {
	if f == nil {
		return nil
	}
	return statistic(f)
}

type statistic func(x []int32) float64

// Energy stores in e the value of the function f (see [Statistic]) for every state in x; it
// implements [Energetic].
func (f statistic) Energy(e []float64, x []int32) {
	if len(e) == 0 {
		return
	}
	sites := len(x) / len(e)
	check.Len("dual", "x", len(x), len(e)*sites)
	for s := range e {
		e[s] = f(x[s*sites : (s+1)*sites])
	}
}

// coef returns the coefficient of statistic k.
func (c *Constraint[S]) coef(k int) float64 {
	if c.Coef == nil {
		return 1
	}
	return c.Coef[k]
}

// Rows returns a [Row] for each inequality of the constraint, or none if it has no bound.
func (c Constraint[S]) Rows() []Row { return c.rows(nil) }

// rows appends the rows of the constraint to rows.
func (c *Constraint[S]) rows(rows []Row) []Row {
	r := Row{Name: c.Name, Unit: c.Unit, Tolerance: c.Tolerance, Bound: c.High}
	if c.Low == c.High {
		r.Equal = true
		return append(rows, r)
	}
	if !math.IsInf(c.High, 1) {
		rows = append(rows, r)
	}
	if !math.IsInf(c.Low, -1) {
		r.Bound, r.AtLeast = c.Low, true
		rows = append(rows, r)
	}
	return rows
}

// Len returns the number of inequalities, which is the number of multipliers.
func (c Constraint[S]) Len() int {
	var list [2]Row
	return len(c.rows(list[:0]))
}

// Violation stores in g, row-major, the violations of every state of x (states × Len). It panics if
// the lengths of the slices do not match.
func (c Constraint[S]) Violation(g []float64, x []S) {
	var list [2]Row
	rows := c.rows(list[:0])
	if len(rows) == 0 {
		check.Len("dual", "g", len(g), 0)
		return
	}
	states := check.Rows("dual", "g", len(g), len(rows))
	e := scratch.Float64s.Get(states)
	defer scratch.Float64s.Put(e)
	for j, r := range rows {
		for s := range states {
			g[s*len(rows)+j] = r.violation(0)
		}
	}
	for k, m := range c.Of {
		if check.Nil(m) {
			panic(fmt.Sprintf("dual: Constraint: Of[%d] is nil", k))
		}
		m.Energy(*e, x)
		for j, r := range rows {
			w := c.coef(k)
			if r.AtLeast {
				w = -w
			}
			for s, v := range *e {
				g[s*len(rows)+j] += float64(w * v)
			}
		}
	}
}

// check returns an error that names the constraint by label if its bounds, statistics or
// coefficients are invalid.
func (c *Constraint[S]) check(label string) error {
	switch {
	case len(c.Of) == 0:
		return fmt.Errorf("dual: %s has no statistic", label)
	case c.Coef != nil && len(c.Coef) != len(c.Of):
		return fmt.Errorf("dual: %s has %d coefficients, want %d", label, len(c.Coef), len(c.Of))
	case !(c.Low <= c.High) || len(c.Rows()) == 0:
		return fmt.Errorf("dual: %s has the bounds Low = %v and High = %v, want Low ≤ High and one of them finite", label, c.Low, c.High)
	}
	if err := checkRows(c.Rows()); err != nil {
		return err
	}
	for k, m := range c.Of {
		if check.Nil(m) {
			return fmt.Errorf("dual: statistic %d of %s is nil", k, label)
		}
		if v := c.coef(k); !check.Finite(v) {
			return fmt.Errorf("dual: coefficient %d of %s = %v, want a finite number", k, label, v)
		}
	}
	return nil
}

// label describes the constraint in errors; j is the number of its first row.
func (c *Constraint[S]) label(j int) string {
	return "the constraint of " + Row{Name: c.Name}.label(j)
}

// Modelled is a constraint set that can express its inequalities as [Constraint] values whose
// statistics are models. A [Lagrangian] of such a set is faster. The method Constraints returns the
// Constraint values for states with the given numbers of sites and levels.
type Modelled interface {
	constraint.Set
	Constraints(sites, levels int) ([]Constraint[int32], error)
}

// Constraints returns a list that holds only c. It implements [Modelled] for constraints on tokens.
func (c Constraint[S]) Constraints(_, _ int) ([]Constraint[S], error) {
	return []Constraint[S]{c}, nil
}

// bound is a row g(x) = Σ_k coef[k]·E_k(x) + offset made of models E_k. If there are no models,
// only the set of the row can evaluate the row.
type bound struct {
	Row
	models []energy.Model
	coef   []float64
	offset float64
}

// bounds returns the rows of a constraint as bounds, for states of the given shape. The argument j
// is the index of the first row.
func bounds(c *Constraint[int32], j, sites, levels int) ([]bound, error) {
	if err := c.check(c.label(j)); err != nil {
		return nil, err
	}
	models := make([]energy.Model, len(c.Of))
	for k, of := range c.Of {
		if f, ok := of.(statistic); ok {
			models[k] = energy.Func{Sites: sites, Levels: levels, E: f}
			continue
		}
		m, ok := of.(energy.Model)
		if !ok {
			return nil, fmt.Errorf("dual: statistic %d of %s is a %T, want an energy.Model or a Statistic", k, c.label(j), of)
		}
		if s, l := m.Shape(); s != sites || l != levels {
			return nil, fmt.Errorf("dual: statistic %d of %s has %d sites and %d levels, want %d and %d", k, c.label(j), s, l, sites, levels)
		}
		models[k] = m
	}
	var all []bound
	for _, r := range c.Rows() {
		b := bound{Row: r, models: models, offset: r.violation(0)}
		for k := range models {
			w := c.coef(k)
			if r.AtLeast {
				w = -w
			}
			b.coef = append(b.coef, w)
		}
		all = append(all, b)
	}
	return all, nil
}

// split returns the rows of all sets as bounds, made of models where that is possible.
func split(sets []constraint.Set, sites, levels int) ([]bound, error) {
	var all []bound
	for k, set := range sets {
		if check.Nil(set) {
			return nil, fmt.Errorf("dual: set %d is nil", k)
		}
		var (
			list []Constraint[int32]
			err  error
		)
		switch s := set.(type) {
		case constraint.Count:
			list, err = counted(s, sites, levels)
		case Modelled:
			list, err = s.Constraints(sites, levels)
		default:
			rows, _, err := rowsOf(set, set.Len())
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				all = append(all, bound{Row: r})
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		from := len(all)
		for i := range list {
			b, err := bounds(&list[i], len(all), sites, levels)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		if n := len(all) - from; n != set.Len() {
			return nil, fmt.Errorf("dual: %T has %d inequalities and constraints of %d rows", set, set.Len(), n)
		}
	}
	return all, nil
}

// counted returns the constraints of a count, made of the energy of independent sites.
func counted(c constraint.Count, sites, levels int) ([]Constraint[int32], error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	logw := make([]float64, sites*levels)
	for _, l := range c.Levels {
		for at := int(l); int(l) < levels && at < len(logw); at += levels {
			logw[at] = -1
		}
	}
	count, err := model.NewIndependent(logw, levels)
	if err != nil {
		return nil, fmt.Errorf("dual: %w", err)
	}
	name := fmt.Sprintf("count of %v", c.Levels)
	var all []Constraint[int32]
	if c.Min > 0 {
		all = append(all, AtLeast(count, float64(c.Min)).Named(name, "", 0))
	}
	if c.Max != constraint.Unbounded {
		all = append(all, AtMost(count, float64(c.Max)).Named(name, "", 0))
	}
	return all, nil
}

// joined is a set that holds all inequalities of several sets, in order.
type joined []constraint.Set

// Len returns the number of inequalities of all sets together.
func (j joined) Len() int {
	n := 0
	for _, s := range j {
		n += s.Len()
	}
	return n
}

// Violation stores in g, row-major, the violations of the states x (states × inequalities). It
// implements constraint.Set.
func (j joined) Violation(g []float64, x []int32) {
	n := j.Len()
	if n == 0 {
		check.Len("dual", "g", len(g), 0)
		return
	}
	states, at := check.Rows("dual", "g", len(g), n), 0
	for _, s := range j {
		m := s.Len()
		if m == 0 {
			continue
		}
		own := scratch.Float64s.Get(states * m)
		s.Violation(*own, x)
		for k, v := range *own {
			g[k/m*n+at+k%m] = v
		}
		at += m
		scratch.Float64s.Put(own)
	}
}

// values is the model E(x) = Σ_j weight[j]·g_j(x) of a set that can only be evaluated.
type values struct {
	set           constraint.Set
	weight        []float64
	sites, levels int
}

// Shape returns the numbers of sites and levels of a state.
func (m *values) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy stores in e the weighted sum of the inequalities g_j at every state of x; it implements
// energy.Model.
func (m *values) Energy(e []float64, x []int32) {
	n := len(m.weight)
	g := scratch.Float64s.Get(len(e) * n)
	defer scratch.Float64s.Put(g)
	m.set.Violation(*g, x)
	for s := range e {
		e[s] = weighted.Dot(m.weight, (*g)[s*n:(s+1)*n])
	}
}

// evaluated adds exact differences to a model, by evaluating it once per level at each site.
type evaluated struct {
	energy.Differentiable
	levels int
}

// As offers energy.Binary if there are two levels, and every optional interface of the wrapped
// model. It implements energy.Capable.
func (m evaluated) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, evaluatedField{m}) || energy.AsInto(m.Differentiable, target)
}

// evaluatedField adds energy.Binary to an evaluated model of two levels.
type evaluatedField struct{ evaluated }

// Field stores the energies in e. In h[i] it stores the energy with level 1 at site i minus the
// energy with level 0. It implements energy.Binary.
func (m evaluatedField) Field(e []float64, h []float32, x []int32) {
	check.Len("dual", "h", len(h), len(x))
	g := scratch.Float32s.Get(2 * len(h))
	defer scratch.Float32s.Put(g)
	m.Gradient(e, *g, x)
	for i := range h {
		h[i] = (*g)[2*i+1] - (*g)[2*i]
	}
}

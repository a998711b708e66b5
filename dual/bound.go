package dual

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Bound is the inequality g(x) ≤ 0, on average, with
//
//	g(x) = Σ_k Coef[k]·E_k(x) + Offset,
//
// with E_k the energies of Models: any model may serve as a statistic. Energies must be
// finite where the base model has probability. With bounds made of models a [Lagrangian]
// offers whatever base and models offer: fields, exact conditionals, cached tables, a
// graph.
type Bound struct {
	Models []energy.Model
	Coef   []float64 // one finite number per model; nil means all 1
	Offset float64

	// Equal makes it the equality E[g] = 0, whose multiplier has either sign. As a
	// hard constraint, per state, it is still g(x) ≤ 0.
	Equal bool
}

// AtMost returns the bound E_m(x) ≤ b.
func AtMost(m energy.Model, b float64) Bound {
	return Bound{Models: []energy.Model{m}, Offset: 0 - b}
}

// AtLeast returns the bound E_m(x) ≥ b.
func AtLeast(m energy.Model, b float64) Bound {
	return Bound{Models: []energy.Model{m}, Coef: []float64{-1}, Offset: b}
}

// coef returns the coefficient of model k.
func (b *Bound) coef(k int) float64 {
	if b.Coef == nil {
		return 1
	}
	return b.Coef[k]
}

// Bounds is a set of inequalities made of models of one shape. It is a
// constraint.Set, safe for concurrent use.
type Bounds []Bound

// Modelled sets can write their inequalities as bounds made of models for states of the
// given shape, which makes a [Lagrangian] of them faster.
type Modelled interface {
	constraint.Set
	Bounds(sites, levels int) (Bounds, error)
}

// Len returns the number of inequalities.
func (b Bounds) Len() int { return len(b) }

// Violation implements constraint.Set. It panics unless all slices have
// lengths that fit.
func (b Bounds) Violation(g []float64, x []int32) {
	if len(b) == 0 {
		check.Len("dual", "g", len(g), 0)
		return
	}
	if len(g)%len(b) != 0 {
		panic(fmt.Sprintf("dual: len(g) = %d, want a multiple of %d", len(g), len(b)))
	}
	states := len(g) / len(b)
	e := scratch.Float64s.Get(states)
	defer scratch.Float64s.Put(e)
	for j := range b {
		for s := range states {
			g[s*len(b)+j] = b[j].Offset
		}
		for k, m := range b[j].Models {
			m.Energy(*e, x)
			c := b[j].coef(k)
			for s, v := range *e {
				g[s*len(b)+j] += float64(c * v)
			}
		}
	}
}

// Bounds returns b after checking that the models have the given shape.
func (b Bounds) Bounds(sites, levels int) (Bounds, error) {
	for j := range b {
		if n := len(b[j].Coef); b[j].Coef != nil && n != len(b[j].Models) {
			return nil, fmt.Errorf("dual: Bounds: bound %d has %d coefficients, want %d", j, n, len(b[j].Models))
		}
		if !check.Finite(b[j].Offset) {
			return nil, fmt.Errorf("dual: Bounds: Offset of bound %d = %v, want a finite number", j, b[j].Offset)
		}
		for k, m := range b[j].Models {
			if m == nil {
				return nil, fmt.Errorf("dual: Bounds: model %d of bound %d is nil", k, j)
			}
			if s, l := m.Shape(); s != sites || l != levels {
				return nil, fmt.Errorf("dual: Bounds: model %d of bound %d has %d sites and %d levels, want %d and %d", k, j, s, l, sites, levels)
			}
			if c := b[j].coef(k); !check.Finite(c) {
				return nil, fmt.Errorf("dual: Bounds: coefficient %d of bound %d = %v, want a finite number", k, j, c)
			}
		}
	}
	return b, nil
}

// Join returns the set of all inequalities of the given sets, in order.
func Join(sets ...constraint.Set) constraint.Set { return joined(slices.Clone(sets)) }

// split returns the inequalities as bounds made of models where that is
// possible: bounds[j] has no models for an inequality that only the set itself
// can evaluate.
func split(set constraint.Set, sites, levels int) (Bounds, error) {
	switch s := set.(type) {
	case joined:
		var all Bounds
		for k, part := range s {
			if part == nil {
				return nil, fmt.Errorf("dual: Join: set %d is nil", k)
			}
			b, err := split(part, sites, levels)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	case constraint.Count:
		return countBounds(s, sites, levels)
	case Modelled:
		b, err := s.Bounds(sites, levels)
		if err == nil && len(b) != set.Len() {
			err = fmt.Errorf("dual: %T has %d inequalities and %d bounds", set, set.Len(), len(b))
		}
		if err != nil {
			return nil, err
		}
		return b.Bounds(sites, levels)
	}
	return make(Bounds, set.Len()), nil
}

// countBounds writes a count as the energy of independent sites.
func countBounds(c constraint.Count, sites, levels int) (Bounds, error) {
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
	var b Bounds
	if c.Min > 0 {
		b = append(b, AtLeast(count, float64(c.Min)))
	}
	if c.Max != constraint.Unbounded {
		b = append(b, AtMost(count, float64(c.Max)))
	}
	return b, nil
}

// joined is what [Join] returns.
type joined []constraint.Set

// Len returns the number of inequalities.
func (j joined) Len() int {
	n := 0
	for _, s := range j {
		if !check.Nil(s) { // split reports it
			n += s.Len()
		}
	}
	return n
}

// Violation implements constraint.Set.
func (j joined) Violation(g []float64, x []int32) {
	n := j.Len()
	if n == 0 {
		check.Len("dual", "g", len(g), 0)
		return
	}
	states, at := check.Rows("dual", "g", len(g), n), 0
	for _, s := range j {
		if check.Nil(s) {
			continue
		}
		own := scratch.Float64s.Get(states * s.Len())
		s.Violation(*own, x)
		for k, v := range *own {
			g[k/s.Len()*n+at+k%s.Len()] = v
		}
		at += s.Len()
		scratch.Float64s.Put(own)
	}
}

// values is the model E(x) = Σ_j weight[j]·g_j(x) of a set of which only the values of g
// are known.
type values struct {
	set           constraint.Set
	weight        []float64
	sites, levels int
}

// Shape returns the shape of the states.
func (m *values) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy implements energy.Model.
func (m *values) Energy(e []float64, x []int32) {
	n := len(m.weight)
	g := scratch.Float64s.Get(len(e) * n)
	defer scratch.Float64s.Put(g)
	m.set.Violation(*g, x)
	for s := range e {
		e[s] = weighted.Dot(m.weight, (*g)[s*n:(s+1)*n])
	}
}

// evaluated adds differences, exact ones by evaluation: levels calls per site.
type evaluated struct {
	energy.Differentiable
	levels int
}

// As offers a field if there are two levels.
func (m evaluated) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, evaluatedField{m}) || energy.AsInto(m.Differentiable, target)
}

// evaluatedField is an evaluated model of two levels.
type evaluatedField struct{ evaluated }

// Field implements energy.Binary.
func (m evaluatedField) Field(e []float64, h []float32, x []int32) {
	check.Len("dual", "h", len(h), len(x))
	g := scratch.Float32s.Get(2 * len(h))
	defer scratch.Float32s.Put(g)
	m.Gradient(e, *g, x)
	for i := range h {
		h[i] = (*g)[2*i+1] - (*g)[2*i]
	}
}

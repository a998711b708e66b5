package energy

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Differences returns m as a Differentiable if it is one. Otherwise the result makes the table
// from m's field ([Binary]) or windows ([Windowed]); this costs one evaluation, and the table is
// as exact as they are. If m has neither, the table is exact: it is computed from m's
// conditionals, or by evaluating sites·(levels−1) neighbouring states. The result also supports
// whatever else m supports.
func Differences(m Model) Differentiable {
	check.Must("energy: Differences", "m", m)
	if d, ok := tableOf(m); ok {
		return d
	}
	return newEvaluated(m)
}

// Conditionals returns m's own exact single-site differences if m has them, and otherwise
// evaluates m at the levels of the site. The result also supports whatever else m supports.
func Conditionals(m Model) Conditional {
	check.Must("energy: Conditionals", "m", m)
	if c, ok := As[Conditional](m); ok {
		return c
	}
	return newEvaluated(m)
}

// tableOf returns m's differences at the cost of one evaluation: its own table,
// or one made of its field or its windows; false if it has none of them.
func tableOf(m Model) (Differentiable, bool) {
	if d, ok := As[Differentiable](m); ok {
		return d, true
	}
	if b, ok := As[Binary](m); ok && two(m) {
		return fieldTable{derived{m}, b}, true
	}
	if w, ok := As[Windowed](m); ok {
		return windowTable{derived{m}, w}, true
	}
	return nil, false
}

// two reports whether a model has two levels; otherwise a field has no meaning.
func two(m Model) bool {
	_, levels := m.Shape()
	return levels == 2
}

// derived is a model that gets its table from something else that it knows.
// Whatever else the model supports it supports too.
type derived struct{ Model }

// As answers for the model.
func (d derived) As(target any) bool { return AsInto(d.Model, target) }

// fieldTable is a model with a compact field as [Differentiable].
type fieldTable struct {
	derived
	m Binary
}

// Gradient implements [Differentiable].
func (f fieldTable) Gradient(e []float64, g []float32, x []int32) {
	check.Len("energy", "g", len(g), 2*len(x))
	b := scratch.Float32s.Get(len(x))
	defer scratch.Float32s.Put(b)
	f.m.Field(e, *b, x)
	spread(g, *b, x)
}

// spread makes the field h of states x a table: the entry of the other level is the field
// or its negative. h may be the second half of g.
func spread(g, h []float32, x []int32) {
	for i, v := range h {
		if x[i] == 0 {
			g[2*i], g[2*i+1] = 0, v
		} else {
			g[2*i], g[2*i+1] = -v, 0
		}
	}
}

// windowTable is a model with windows as [Differentiable].
type windowTable struct {
	derived
	m Windowed
}

// Gradient implements [Differentiable]: the window that reaches every level from
// every other one holds the row, from column levels−1−x_i on.
func (t windowTable) Gradient(e []float64, g []float32, x []int32) {
	_, levels := t.m.Shape()
	check.Len("energy", "g", len(g), len(x)*levels)
	columns := 2*levels - 1
	b := scratch.Float32s.Get(len(x) * columns)
	defer scratch.Float32s.Put(b)
	t.m.Window(e, *b, x, levels-1)
	for i, l := range x {
		copy(g[i*levels:(i+1)*levels], (*b)[i*columns+levels-1-int(l):])
	}
}

// evaluated gives a model the differences that it does not know.
type evaluated struct {
	Model
	sites, levels int
	conditional   Conditional // nil if the model has none
}

func newEvaluated(m Model) *evaluated {
	v := &evaluated{Model: m}
	v.sites, v.levels = m.Shape()
	v.conditional, _ = As[Conditional](m)
	return v
}

// As answers for the model first.
func (v *evaluated) As(target any) bool { return AsInto(v.Model, target) }

// Conditional implements [Conditional].
func (v *evaluated) Conditional(d []float64, site int, x []int32) {
	check.Len("energy", "d", len(d), v.levels)
	check.Len("energy", "x", len(x), v.sites)
	if v.conditional != nil {
		v.conditional.Conditional(d, site, x)
		return
	}
	// One state per level, in a single call: models are faster in batches, and
	// states are independent of their batch.
	b := scratch.Int32s.Get(v.levels * v.sites)
	defer scratch.Int32s.Put(b)
	for l := range v.levels {
		row := (*b)[l*v.sites : (l+1)*v.sites]
		copy(row, x)
		row[site] = int32(l)
	}
	v.Model.Energy(d, *b)
	e := d[x[site]]
	for l := range d {
		d[l] -= e
	}
	d[x[site]] = 0 // also where it was Inf − Inf
}

// Gradient implements [Differentiable].
func (v *evaluated) Gradient(e []float64, g []float32, x []int32) {
	check.Len("energy", "g", len(g), len(x)*v.levels)
	v.Model.Energy(e, x)
	b := scratch.Float64s.Get(v.levels)
	defer scratch.Float64s.Put(b)
	for s := range e {
		state := x[s*v.sites : (s+1)*v.sites]
		for i := range state {
			v.Conditional(*b, i, state)
			for l, d := range *b {
				g[l] = float32(d)
			}
			g = g[v.levels:]
		}
	}
}

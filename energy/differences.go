package energy

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Differences returns m as a [Differentiable]: m itself if it is one, or a wrapper that computes
// the table of energy differences. If m has a field ([Binary]) or windows ([Windowed]), the table
// is computed from these in one evaluation and is as exact as they are. Otherwise the table is
// exact: it comes from the conditionals of m ([Conditional]), or from sites·(levels−1) evaluations
// of neighbouring states. The wrapper supports all other interfaces that m supports.
func Differences(m Model) Differentiable {
	check.Must("energy: Differences", "m", m)
	if d, ok := tableOf(m); ok {
		return d
	}
	return newEvaluated(m)
}

// Conditionals returns m as a [Conditional]: m itself if it is one, or a wrapper that evaluates m
// at every level of the site. The wrapper supports all other interfaces that m supports.
func Conditionals(m Model) Conditional {
	check.Must("energy: Conditionals", "m", m)
	if c, ok := As[Conditional](m); ok {
		return c
	}
	return newEvaluated(m)
}

// tableOf returns the table of differences of m if one evaluation suffices: the table of m itself,
// or one made from its field or its windows. ok is false if m has none of these.
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

// two reports whether a model has two levels, which a field requires.
func two(m Model) bool {
	_, levels := m.Shape()
	return levels == 2
}

// derived wraps a model whose table is computed from its field or windows. It supports all other
// interfaces of the model.
type derived struct{ Model }

// As implements [Capable]: the wrapper supports all interfaces that the wrapped model supports.
func (d derived) As(target any) bool { return AsInto(d.Model, target) }

// fieldTable implements [Differentiable] for a model with a field ([Binary]).
type fieldTable struct {
	derived
	m Binary
}

// Gradient stores the energies in e and the table of energy differences in g. It uses the field of
// the wrapped model. It implements [Differentiable].
func (f fieldTable) Gradient(e []float64, g []float32, x []int32) {
	check.Len("energy", "g", len(g), 2*len(x))
	b := scratch.Float32s.Get(len(x))
	defer scratch.Float32s.Put(b)
	f.m.Field(e, *b, x)
	spread(g, *b, x)
}

// spread expands the field h of the states x to a table g: the entry of the other level is the
// field or its negative. h may be the second half of g.
func spread(g, h []float32, x []int32) {
	for i, v := range h {
		if x[i] == 0 {
			g[2*i], g[2*i+1] = 0, v
		} else {
			g[2*i], g[2*i+1] = -v, 0
		}
	}
}

// windowTable implements [Differentiable] for a model with windows ([Windowed]).
type windowTable struct {
	derived
	m Windowed
}

// Gradient stores the energies in e and the table of energy differences in g. Row i of the table
// consists of consecutive entries of the window of site i (see [Windowed]), from column
// levels−1−x_i on. The windows have the half-width levels−1. It implements [Differentiable].
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

// evaluated wraps a model without a table or without conditionals, and computes them by evaluation.
type evaluated struct {
	Model
	sites, levels int
	conditional   Conditional // conditionals of the model; nil if it has none
}

func newEvaluated(m Model) *evaluated {
	v := &evaluated{Model: m}
	v.sites, v.levels = m.Shape()
	v.conditional, _ = As[Conditional](m)
	return v
}

// As implements [Capable]. If the wrapped model supports an interface, As returns the model's
// implementation, even if the wrapper has its own.
func (v *evaluated) As(target any) bool { return AsInto(v.Model, target) }

// Conditional stores in d, for every level of one site, the exact energy at that level minus the
// energy of the state x. It uses the conditionals of the model or, if there are none, its energies
// at every level.
func (v *evaluated) Conditional(d []float64, site int, x []int32) {
	check.Len("energy", "d", len(d), v.levels)
	check.Len("energy", "x", len(x), v.sites)
	if v.conditional != nil {
		v.conditional.Conditional(d, site, x)
		return
	}
	// Evaluate one state per level in a single call, because models are faster in batches. The
	// energy of a state does not depend on the other states of the batch.
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
	d[x[site]] = 0 // even if the difference was Inf − Inf = NaN
}

// Gradient stores the energies in e. It stores the exact table of energy differences, rounded to
// float32, in g.
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

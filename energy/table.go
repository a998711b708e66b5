package energy

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

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

// two reports whether a model has two levels, without which a field says nothing.
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

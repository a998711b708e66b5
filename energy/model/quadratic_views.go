package model

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// As implements [energy.Capable].
func (m *Quadratic) As(target any) bool {
	if m.fast != nil && (energy.Give[energy.Binary](target, denseQuadratic{m}) || energy.Give[energy.Incremental](target, denseQuadratic{m})) {
		return true
	}
	if m.fast == nil && len(m.values) == 2 && energy.Give[energy.Binary](target, binaryQuadratic{m}) {
		return true
	}
	if len(m.values) == 2 && !m.learned && energy.Give[energy.Pairwise](target, pairwiseQuadratic{m}) {
		return true
	}
	if o := (ordinalQuadratic{m}); m.ordinal() && (energy.Give[energy.Ordinal](target, o) || energy.Give[energy.Windowed](target, o)) {
		return true
	}
	a, ok := m.couplings.(sparse)
	return ok && energy.Give[energy.Graphical](target, sparseQuadratic{m, a.graph})
}

// binaryQuadratic is a Quadratic with two levels.
type binaryQuadratic struct{ *Quadratic }

// Field implements [energy.Binary]; h is the exact difference rounded to float32.
func (m binaryQuadratic) Field(e []float64, h []float32, x []int32) {
	check.Rows("model", "x", len(x), len(m.linear))
	check.Len("model", "h", len(h), len(x))
	m.each(e, x, func(at, i int, f float64) {
		h[at] = float32(m.difference(i, 0, 1, f))
	})
}

// pairwiseQuadratic is a Quadratic with two levels.
type pairwiseQuadratic struct{ *Quadratic }

// Pairs implements [energy.Pairwise]. It makes rows of a dense matrix.
func (m pairwiseQuadratic) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	step := m.values[1] - m.values[0]
	unit := float64(step * step)
	field = make([]float64, len(m.linear))
	zeros := make([]int32, len(m.linear))
	for i := range field {
		lo, hi := m.couplings.halves(i, zeros, m.values)
		field[i] = m.difference(i, 0, 1, lo+hi)
	}
	if a, is := m.couplings.(sparse); is {
		start, adj, weight = a.graph.start, a.graph.adj, slices.Clone(a.graph.weight)
	} else if start, adj, weight, ok = denseRows(m.couplings.(dense)); !ok {
		return nil, nil, nil, nil, false
	}
	for k := range weight {
		weight[k] = float64(weight[k] * unit)
	}
	return start, adj, weight, field, true
}

// denseRows returns the entries of a that are not 0 in compressed rows, unless
// there are too many for 32-bit indices.
func denseRows(a dense) (start, adj []int32, weight []float64, ok bool) {
	entries := 0
	for _, w := range a.rows {
		if w != 0 {
			entries++
		}
	}
	if entries > math.MaxInt32 {
		return nil, nil, nil, false
	}
	start = make([]int32, a.sites+1)
	adj, weight = make([]int32, 0, entries), make([]float64, 0, entries)
	for i := range a.sites {
		for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
			if w != 0 {
				adj, weight = append(adj, int32(j)), append(weight, w)
			}
		}
		start[i+1] = int32(len(adj))
	}
	return start, adj, weight, true
}

// ordinalQuadratic is a Quadratic whose values have distances.
type ordinalQuadratic struct{ *Quadratic }

// Values implements [energy.Ordinal].
func (m ordinalQuadratic) Values() []float32 { return m.numbers }

// Window implements [energy.Windowed] with exact differences.
func (m ordinalQuadratic) Window(e []float64, g []float32, x []int32, w int) {
	width := 2*w + 1
	check.Rows("model", "x", len(x), len(m.linear))
	check.Len("model", "g", len(g), len(x)*width)
	if m.fast != nil {
		m.fastWindow(e, g, x, w)
		return
	}
	m.each(e, x, func(at, i int, f float64) {
		row, here := g[at*width:(at+1)*width], int(x[at])
		for k := range row {
			if l := here + k - w; l >= 0 && l < len(m.values) {
				row[k] = float32(m.difference(i, here, l, f))
			} else {
				row[k] = float32(math.Inf(1))
			}
		}
	})
}

// fastWindow is Window of two levels: a part of their table, so that energies and
// differences have the bits of Gradient.
func (m ordinalQuadratic) fastWindow(e []float64, g []float32, x []int32, w int) {
	table := scratch.Float32s.Get(2 * len(x))
	defer scratch.Float32s.Put(table)
	m.Gradient(e, *table, x)
	width := 2*w + 1
	for at, from := range x {
		for k := range width {
			if l := int(from) + k - w; l == 0 || l == 1 {
				g[at*width+k] = (*table)[2*at+l]
			} else {
				g[at*width+k] = float32(math.Inf(1))
			}
		}
	}
}

// sparseQuadratic is a Quadratic that knows its neighbours.
type sparseQuadratic struct {
	*Quadratic
	graph *Graph
}

// Graph implements [energy.Graphical].
func (m sparseQuadratic) Graph() (start, adj []int32) { return m.graph.start, m.graph.adj }

// denseQuadratic is a Quadratic with dense couplings and two levels.
type denseQuadratic struct{ *Quadratic }

// Field implements [energy.Binary]; h is the exact difference rounded to float32.
func (m denseQuadratic) Field(e []float64, h []float32, x []int32) {
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), len(m.linear)))
	check.Len("model", "h", len(h), len(x))
	m.evaluate(e, h, nil, x, nil, nil)
}

// CacheLen implements [energy.Incremental]: a sum of couplings per site, and
// padding.
func (m denseQuadratic) CacheLen() int { return len(m.fast.panels.origin) }

// FieldFrom implements [energy.Incremental]: a change of a site costs a pass over
// its couplings.
func (m denseQuadratic) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	rows := check.Rows("model", "y", len(y), len(m.linear))
	check.Len("model", "e", len(e), rows)
	check.Len("model", "h", len(h), len(y))
	check.Len("model", "next", len(next), rows*m.CacheLen())
	if x != nil {
		check.Len("model", "x", len(x), len(y))
		check.Len("model", "cache", len(cache), len(next))
	}
	m.evaluate(e, h, next, y, cache, x)
}

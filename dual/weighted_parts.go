package dual

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// weightedTable is a weighted sum as energy.Differentiable.
type weightedTable struct {
	*weighted
	m []energy.Differentiable
}

// Gradient implements energy.Differentiable: tables add up.
func (w weightedTable) Gradient(e []float64, g []float32, x []int32) {
	w.fill(e, g, func(k int, e []float64, g []float32) { w.m[k].Gradient(e, g, x) })
}

// weightedField is a weighted sum as energy.Binary.
type weightedField struct {
	*weighted
	m []energy.Binary
}

// Field implements energy.Binary: fields add up.
func (w weightedField) Field(e []float64, h []float32, x []int32) {
	w.fill(e, h, func(k int, e []float64, h []float32) { w.m[k].Field(e, h, x) })
}

// fill stores in e and g the weighted sums of what part stores for each part.
func (w *weighted) fill(e []float64, g []float32, part func(k int, e []float64, g []float32)) {
	part(0, e, g)
	scaleAll(e, w.coef[0])
	scaleAll(g, w.coef[0])
	for s := range e {
		e[s] += w.offset
	}
	be, bg := scratch.Float64s.Get(len(e)), scratch.Float32s.Get(len(g))
	defer scratch.Float64s.Put(be)
	defer scratch.Float32s.Put(bg)
	for k := 1; k < len(w.coef); k++ {
		if w.coef[k] != 0 {
			part(k, *be, *bg)
			addScaled(e, *be, w.coef[k])
			addScaled(g, *bg, w.coef[k])
		}
	}
}

// weightedConditional is a weighted sum as energy.Conditional.
type weightedConditional[T energy.Conditional] struct {
	*weighted
	m []T
}

// Conditional implements energy.Conditional: differences add up.
func (w weightedConditional[T]) Conditional(d []float64, site int, x []int32) {
	w.m[0].Conditional(d, site, x)
	scaleAll(d, w.coef[0])
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for k, c := range w.coef[1:] {
		if c != 0 {
			w.m[k+1].Conditional(*b, site, x)
			addScaled(d, *b, c)
		}
	}
}

// weightedLocal is a weighted sum as energy.Local.
type weightedLocal struct {
	weightedConditional[energy.Local]
	graphs []energy.Graphical // one per part; nil where the graph is not known
}

func newWeightedLocal(w *weighted, m []energy.Local) weightedLocal {
	l := weightedLocal{weightedConditional[energy.Local]{w, m}, make([]energy.Graphical, len(m))}
	for k, part := range w.parts {
		l.graphs[k], _ = energy.As[energy.Graphical](part)
	}
	return l
}

// Locals implements energy.Local: tables add up.
func (w weightedLocal) Locals(d []float64, x []int32) {
	w.m[0].Locals(d, x)
	scaleAll(d, w.coef[0])
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for k, c := range w.coef[1:] {
		if c != 0 {
			w.m[k+1].Locals(*b, x)
			addScaled(d, *b, c)
		}
	}
}

// Move implements energy.Local: every part adds its change, times its
// coefficient.
func (w weightedLocal) Move(d []float64, site int, to int32, x []int32) {
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for k, c := range w.coef {
		switch c {
		case 0:
		case 1:
			w.m[k].Move(d, site, to, x)
		default:
			w.move(k, d, *b, site, to, x)
		}
	}
}

// move adds to d the change of part k. The part adds it to zeros first: to the
// rows of the site's neighbours, or to all of them if these are not known.
func (w weightedLocal) move(k int, d, change []float64, site int, to int32, x []int32) {
	c := w.coef[k]
	if w.graphs[k] == nil {
		clear(change)
		w.m[k].Move(change, site, to, x)
		for i, v := range change {
			d[i] += float64(c * v)
		}
		return
	}
	start, adj := w.graphs[k].Graph()
	neighbours := adj[start[site]:start[site+1]]
	if len(neighbours) == 0 {
		return
	}
	row := func(v []float64, j int32) []float64 { return v[int(j)*w.levels : (int(j)+1)*w.levels] }
	for _, j := range neighbours {
		clear(row(change, j))
	}
	w.m[k].Move(change, site, to, x)
	for _, j := range neighbours {
		from, r := row(change, j), row(d, j)
		for l, v := range from {
			r[l] += float64(c * v)
		}
	}
}

// weightedGraph is a weighted sum as energy.Graphical.
type weightedGraph struct{ *weighted }

// Graph implements energy.Graphical: sites interact if they do in some part,
// whatever the coefficients are now.
func (w weightedGraph) Graph() (start, adj []int32) { return w.start, w.adj }

// weightedOrdinal is a weighted sum with the levels of its base.
type weightedOrdinal struct {
	*weighted
	m energy.Ordinal
}

// Values implements energy.Ordinal.
func (w weightedOrdinal) Values() []float32 { return w.m.Values() }

// weightedSupport is a weighted sum with the support of its base.
type weightedSupport struct {
	*weighted
	m energy.Supported
}

// Repair implements energy.Supported.
func (w weightedSupport) Repair(x []int32) { w.m.Repair(x) }

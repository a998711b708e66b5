package weighted

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// table is a weighted sum as energy.Differentiable.
type table struct {
	*Sum
	m []energy.Differentiable
}

// Gradient implements energy.Differentiable: tables add up.
func (w table) Gradient(e []float64, g []float32, x []int32) {
	w.fill(e, g, func(k int, e []float64, g []float32) { w.m[k].Gradient(e, g, x) })
}

// field is a weighted sum as energy.Binary.
type field struct {
	*Sum
	m []energy.Binary
}

// Field implements energy.Binary: fields add up.
func (w field) Field(e []float64, h []float32, x []int32) {
	w.fill(e, h, func(k int, e []float64, h []float32) { w.m[k].Field(e, h, x) })
}

// fill stores in e and g the weighted sums of what part stores for each part.
func (w *Sum) fill(e []float64, g []float32, part func(k int, e []float64, g []float32)) {
	part(0, e, g)
	Scale(e, w.Coef[0])
	Scale(g, w.Coef[0])
	for s := range e {
		e[s] += w.Offset
	}
	be, bg := scratch.Float64s.Get(len(e)), scratch.Float32s.Get(len(g))
	defer scratch.Float64s.Put(be)
	defer scratch.Float32s.Put(bg)
	for k := 1; k < len(w.Coef); k++ {
		if w.Coef[k] != 0 {
			part(k, *be, *bg)
			Add(e, *be, w.Coef[k])
			Add(g, *bg, w.Coef[k])
		}
	}
}

// conditional is a weighted sum as energy.Conditional.
type conditional[T energy.Conditional] struct {
	*Sum
	m []T
}

// Conditional implements energy.Conditional: differences add up.
func (w conditional[T]) Conditional(d []float64, site int, x []int32) {
	w.m[0].Conditional(d, site, x)
	Scale(d, w.Coef[0])
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for k, c := range w.Coef[1:] {
		if c != 0 {
			w.m[k+1].Conditional(*b, site, x)
			Add(d, *b, c)
		}
	}
}

// local is a weighted sum as energy.Local.
type local struct {
	conditional[energy.Local]
	graphs []energy.Graphical // one per part; nil where the graph is not known
}

func newLocal(w *Sum, m []energy.Local) local {
	l := local{conditional[energy.Local]{w, m}, make([]energy.Graphical, len(m))}
	for k, part := range w.parts {
		l.graphs[k], _ = energy.As[energy.Graphical](part)
	}
	return l
}

// Locals implements energy.Local: tables add up.
func (w local) Locals(d []float64, x []int32) {
	w.m[0].Locals(d, x)
	Scale(d, w.Coef[0])
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for k, c := range w.Coef[1:] {
		if c != 0 {
			w.m[k+1].Locals(*b, x)
			Add(d, *b, c)
		}
	}
}

// Move implements energy.Local: every part adds its change, times its
// coefficient.
func (w local) Move(d []float64, site int, to int32, x []int32) {
	for k, c := range w.Coef {
		switch c {
		case 0:
		case 1:
			w.m[k].Move(d, site, to, x)
		default:
			w.move(k, d, site, to, x)
		}
	}
}

// move adds to d the change of part k. The part adds it to zeros first: to the
// rows of the site's neighbours, or to all of them if these are not known.
func (w local) move(k int, d []float64, site int, to int32, x []int32) {
	c := w.Coef[k]
	var neighbours []int32
	if w.graphs[k] != nil {
		start, adj := w.graphs[k].Graph()
		if neighbours = adj[start[site]:start[site+1]]; len(neighbours) == 0 {
			return
		}
	}
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	change := *b
	if w.graphs[k] == nil {
		clear(change)
		w.m[k].Move(change, site, to, x)
		for i, v := range change {
			d[i] += float64(c * v)
		}
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

// graph is a weighted sum as energy.Graphical.
type graph struct{ *Sum }

// Graph implements energy.Graphical: sites interact if they do in some part,
// whatever the coefficients are now.
func (w graph) Graph() (start, adj []int32) { return w.start, w.adj }

// ordinal is a weighted sum with the levels of its base.
type ordinal struct {
	*Sum
	m energy.Ordinal
}

// Values implements energy.Ordinal.
func (w ordinal) Values() []float32 { return w.m.Values() }

// support is a weighted sum with the support of its base.
type support struct {
	*Sum
	m energy.Supported
}

// Repair implements energy.Supported.
func (w support) Repair(x []int32) { w.m.Repair(x) }

// As answers as energy.As asks.
func (w *Sum) As(target any) bool {
	switch p := target.(type) {
	case *energy.Differentiable:
		return join(w, p, func(m []energy.Differentiable) energy.Differentiable { return table{w, m} })
	case *energy.Binary:
		return w.levels == 2 && join(w, p, func(m []energy.Binary) energy.Binary { return field{w, m} })
	case *energy.Conditional:
		return join(w, p, func(m []energy.Conditional) energy.Conditional {
			return conditional[energy.Conditional]{w, m}
		})
	case *energy.Local:
		return join(w, p, func(m []energy.Local) energy.Local { return newLocal(w, m) })
	case *energy.Graphical:
		if w.start == nil {
			return false
		}
		*p = graph{w}
		return true
	case *energy.Ordinal:
		return base(w, p, func(m energy.Ordinal) energy.Ordinal { return ordinal{w, m} })
	case *energy.Supported:
		return base(w, p, func(m energy.Supported) energy.Supported { return support{w, m} })
	}
	return false
}

// join stores in p what wrap makes of the parts if all of them are Ts.
func join[T any](w *Sum, p *T, wrap func([]T) T) bool {
	parts := all[T](w.parts)
	if parts != nil {
		*p = wrap(parts)
	}
	return parts != nil
}

// base stores in p what wrap makes of the first part if that is a T.
func base[T any](w *Sum, p *T, wrap func(T) T) bool {
	t, ok := energy.As[T](w.parts[0])
	if ok {
		*p = wrap(t)
	}
	return ok
}

package dual

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// weighted is the model E(x) = Σ_k coef[k]·E_k(x) + offset, whose coefficients
// may change between calls. A part with coefficient 0 is not evaluated. Where
// the first part, the base, has probability zero so has the sum.
//
// Every optional interface has a type of its own around it.
type weighted struct {
	parts         []energy.Model
	coef          []float64
	offset        float64
	sites, levels int
	start, adj    []int32 // union of the graphs; nil if one part has none
}

// newWeighted returns the sum of the base alone.
func newWeighted(base energy.Model) *weighted {
	w := &weighted{parts: []energy.Model{base}, coef: []float64{1}}
	w.sites, w.levels = base.Shape()
	return w
}

// add makes m a part, if it is not one already, and returns its number.
func (w *weighted) add(m energy.Model) int {
	if reflect.TypeOf(m).Comparable() {
		if k := slices.Index(w.parts[1:], m); k >= 0 {
			return k + 1
		}
	}
	w.parts = append(w.parts, m)
	w.coef = append(w.coef, 0)
	return len(w.parts) - 1
}

// Shape returns the shape of all parts.
func (w *weighted) Shape() (sites, levels int) { return w.sites, w.levels }

// Energy implements energy.Model.
func (w *weighted) Energy(e []float64, x []int32) {
	w.parts[0].Energy(e, x)
	for s, v := range e {
		if !math.IsInf(v, 1) {
			e[s] = float64(w.coef[0]*v) + w.offset
		}
	}
	b := scratch.Float64s.Get(len(e))
	defer scratch.Float64s.Put(b)
	for k, m := range w.parts[1:] {
		if c := w.coef[k+1]; c != 0 {
			m.Energy(*b, x)
			addScaled(e, *b, c)
		}
	}
}

// As answers as energy.As asks.
func (w *weighted) As(target any) bool {
	switch p := target.(type) {
	case *energy.Differentiable:
		return join(w, p, func(m []energy.Differentiable) energy.Differentiable { return weightedTable{w, m} })
	case *energy.Binary:
		return w.levels == 2 && join(w, p, func(m []energy.Binary) energy.Binary { return weightedField{w, m} })
	case *energy.Conditional:
		return join(w, p, func(m []energy.Conditional) energy.Conditional {
			return weightedConditional[energy.Conditional]{w, m}
		})
	case *energy.Local:
		return join(w, p, func(m []energy.Local) energy.Local { return newWeightedLocal(w, m) })
	case *energy.Graphical:
		if w.start == nil {
			return false
		}
		*p = weightedGraph{w}
		return true
	case *energy.Ordinal:
		return base(w, p, func(m energy.Ordinal) energy.Ordinal { return weightedOrdinal{w, m} })
	case *energy.Supported:
		return base(w, p, func(m energy.Supported) energy.Supported { return weightedSupport{w, m} })
	}
	return false
}

// join stores in p what wrap makes of the parts if all of them are Ts.
func join[T any](w *weighted, p *T, wrap func([]T) T) bool {
	parts := all[T](w.parts)
	if parts != nil {
		*p = wrap(parts)
	}
	return parts != nil
}

// base stores in p what wrap makes of the first part if that is a T.
func base[T any](w *weighted, p *T, wrap func(T) T) bool {
	t, ok := energy.As[T](w.parts[0])
	if ok {
		*p = wrap(t)
	}
	return ok
}

// all returns every model as a T, or nil if one of them is not.
func all[T any](models []energy.Model) []T {
	ts := make([]T, len(models))
	for k, m := range models {
		var ok bool
		if ts[k], ok = energy.As[T](m); !ok {
			return nil
		}
	}
	return ts
}

// unite fills the graph from those of the parts. It is called once, when all
// parts are there.
func (w *weighted) unite() {
	graphs := all[energy.Graphical](w.parts)
	if graphs == nil {
		return
	}
	w.start, w.adj = make([]int32, w.sites+1), []int32{}
	for i := range w.sites {
		from := len(w.adj)
		for _, m := range graphs {
			s, a := m.Graph()
			w.adj = append(w.adj, a[s[i]:s[i+1]]...)
		}
		slices.Sort(w.adj[from:])
		w.adj = append(w.adj[:from], slices.Compact(w.adj[from:])...)
		w.start[i+1] = int32(len(w.adj))
	}
}

// addScaled adds c·b to a; where a is infinite it stays so.
func addScaled[T float32 | float64](a, b []T, c float64) {
	for i, v := range b {
		if !math.IsInf(float64(a[i]), 0) {
			a[i] = T(float64(a[i]) + float64(c*float64(v)))
		}
	}
}

// scaleAll multiplies v by c; infinities stay what they are.
func scaleAll[T float32 | float64](v []T, c float64) {
	if c == 1 {
		return
	}
	for i, a := range v {
		if !math.IsInf(float64(a), 0) {
			v[i] = T(float64(a) * c)
		}
	}
}

// checkBase returns an error unless m has a shape.
func checkBase(caller, name string, m energy.Model) error {
	if m == nil {
		return fmt.Errorf("dual: %s: %s is nil", caller, name)
	}
	if sites, levels := m.Shape(); sites < 1 || levels < 1 {
		return fmt.Errorf("dual: %s: %s has %d sites and %d levels, want both ≥ 1", caller, name, sites, levels)
	}
	return nil
}

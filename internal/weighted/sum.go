package weighted

import (
	"math"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Sum is the model E(x) = Σ_k Coef[k]·E_k(x) + Offset. A part with coefficient 0
// is not evaluated. Where the first part, the base, has probability zero so has
// the sum.
//
// It is safe for concurrent use while Coef and Offset rest. Every optional
// interface has a type of its own around it.
type Sum struct {
	Coef   []float64 // one per part, the base's first
	Offset float64

	parts         []energy.Model
	sites, levels int
	start, adj    []int32 // union of the graphs; nil if one part has none
}

// New returns the sum of the base alone, with coefficient 1.
func New(base energy.Model) *Sum {
	w := &Sum{parts: []energy.Model{base}, Coef: []float64{1}}
	w.sites, w.levels = base.Shape()
	return w
}

// Base returns the first part.
func (w *Sum) Base() energy.Model { return w.parts[0] }

// Append makes m a part of w with coefficient 0, if it is not one already, and
// returns its number. The base is not looked at. It is no method, since whoever is
// given a model could call that.
func Append(w *Sum, m energy.Model) int {
	if reflect.TypeOf(m).Comparable() {
		if k := slices.Index(w.parts[1:], m); k >= 0 {
			return k + 1
		}
	}
	w.parts = append(w.parts, m)
	w.Coef = append(w.Coef, 0)
	return len(w.parts) - 1
}

// Shape returns the shape of all parts.
func (w *Sum) Shape() (sites, levels int) { return w.sites, w.levels }

// Energy implements energy.Model.
func (w *Sum) Energy(e []float64, x []int32) {
	w.parts[0].Energy(e, x)
	for s, v := range e {
		if !math.IsInf(v, 1) {
			e[s] = float64(w.Coef[0]*v) + w.Offset
		}
	}
	b := scratch.Float64s.Get(len(e))
	defer scratch.Float64s.Put(b)
	for k, m := range w.parts[1:] {
		if c := w.Coef[k+1]; c != 0 {
			m.Energy(*b, x)
			Add(e, *b, c)
		}
	}
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

// Unite fills the graph of w from those of its parts. It is called once, when all
// parts are there.
func Unite(w *Sum) {
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

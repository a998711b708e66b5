package energy

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

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

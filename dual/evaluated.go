package dual

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// evaluated is the model E(x) = Σ_j weight[j]·g_j(x) of a set of which only the
// values of g are known. Its differences are exact, by evaluation: levels calls
// per site.
type evaluated struct {
	set           constraint.Set
	weight        []float64
	sites, levels int
}

// Shape returns the shape of the states.
func (m *evaluated) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy implements energy.Model.
func (m *evaluated) Energy(e []float64, x []int32) {
	n := len(m.weight)
	g := scratch.Float64s.Get(len(e) * n)
	defer scratch.Float64s.Put(g)
	m.set.Violation(*g, x)
	for s := range e {
		e[s] = weighted.Dot(m.weight, (*g)[s*n:(s+1)*n])
	}
}

// Conditional implements energy.Conditional.
func (m *evaluated) Conditional(d []float64, site int, x []int32) {
	check.Len("dual", "d", len(d), m.levels)
	check.Len("dual", "x", len(x), m.sites)
	b := scratch.Int32s.Get(m.levels * m.sites)
	defer scratch.Int32s.Put(b)
	for l := range m.levels {
		row := (*b)[l*m.sites : (l+1)*m.sites]
		copy(row, x)
		row[site] = int32(l)
	}
	m.Energy(d, *b)
	e := d[x[site]]
	for l := range d {
		d[l] -= e
	}
	d[x[site]] = 0
}

// Gradient implements energy.Differentiable.
func (m *evaluated) Gradient(e []float64, g []float32, x []int32) {
	check.Len("dual", "g", len(g), len(x)*m.levels)
	m.Energy(e, x)
	m.rows(x, func(at int, d []float64) {
		for l, v := range d {
			g[at*m.levels+l] = float32(v)
		}
	})
}

// rows calls f with the differences of every site of every state.
func (m *evaluated) rows(x []int32, f func(at int, d []float64)) {
	d := scratch.Float64s.Get(m.levels)
	defer scratch.Float64s.Put(d)
	for at := range x {
		s := at / m.sites * m.sites
		m.Conditional(*d, at-s, x[s:s+m.sites])
		f(at, *d)
	}
}

// As says that two levels make a field.
func (m *evaluated) As(target any) bool {
	p, ok := target.(*energy.Binary)
	if ok = ok && m.levels == 2; ok {
		*p = evaluatedField{m}
	}
	return ok
}

// evaluatedField is an evaluated model of two levels.
type evaluatedField struct{ *evaluated }

// Field implements energy.Binary.
func (m evaluatedField) Field(e []float64, h []float32, x []int32) {
	check.Len("dual", "h", len(h), len(x))
	m.Energy(e, x)
	m.rows(x, func(at int, d []float64) { h[at] = float32(d[1] - d[0]) })
}

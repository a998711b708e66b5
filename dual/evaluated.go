package dual

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// values is the model E(x) = Σ_j weight[j]·g_j(x) of a set of which only the values of g
// are known.
type values struct {
	set           constraint.Set
	weight        []float64
	sites, levels int
}

// Shape returns the shape of the states.
func (m *values) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy implements energy.Model.
func (m *values) Energy(e []float64, x []int32) {
	n := len(m.weight)
	g := scratch.Float64s.Get(len(e) * n)
	defer scratch.Float64s.Put(g)
	m.set.Violation(*g, x)
	for s := range e {
		e[s] = weighted.Dot(m.weight, (*g)[s*n:(s+1)*n])
	}
}

// evaluated adds differences, exact ones by evaluation: levels calls per site.
type evaluated struct {
	energy.Differentiable
	levels int
}

// As offers a field if there are two levels.
func (m evaluated) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, evaluatedField{m}) || energy.AsInto(m.Differentiable, target)
}

// evaluatedField is an evaluated model of two levels.
type evaluatedField struct{ evaluated }

// Field implements energy.Binary.
func (m evaluatedField) Field(e []float64, h []float32, x []int32) {
	check.Len("dual", "h", len(h), len(x))
	g := scratch.Float32s.Get(2 * len(h))
	defer scratch.Float32s.Put(g)
	m.Gradient(e, *g, x)
	for i := range h {
		h[i] = (*g)[2*i+1] - (*g)[2*i]
	}
}

// Package probe owns what a checkpoint says of a target and a method: enough to
// tell them from others of the same shape.
package probe

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// States is the number of states by which models are told apart.
const States = 4

// Target adds the levels, the method with all its fields, the model's name if it
// has one, and its energies at fixed states: uniform draws by intN, repaired
// where the model can.
func Target(add func(name string, value any), m energy.Model, method any, intN func(n int) int) {
	sites, levels := m.Shape()
	add("levels", levels)
	add("method", method)
	if n, ok := m.(interface{ Name() string }); ok {
		add("model", n.Name())
	}
	if _, ok := energy.As[energy.Bipartite](m); ok {
		// Matrix products differ in the last bits between instruction sets.
		add("instruction set", simd.Backend())
	}
	x, e := make([]int32, States*sites), make([]float64, States)
	for i := range x {
		x[i] = int32(intN(levels))
	}
	if s, ok := energy.As[energy.Supported](m); ok {
		s.Repair(x)
	}
	m.Energy(e, x)
	add("energies of test states", e)
}

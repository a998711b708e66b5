// Package probe owns what a checkpoint says of a target and a method: enough to
// tell them from others of the same shape.
package probe

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// States seeds the random states by which models are told apart, and constant is
// the number of those that follow them: all sites at the last level, at the one before
// and so on. A coupling of two sites of level 1 is seen by a random state with
// probability ¼, and by the first of these always.
const (
	States   = 4
	random   = 8
	constant = 4
)

// Target adds the levels, the method with all its fields, the model's name if it
// has one, and its energies at fixed states: uniform draws by intN and constant
// ones, repaired where the model can.
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
	n := random + min(constant, levels)
	x, e := make([]int32, sites), make([]float64, n)
	supported, repairs := energy.As[energy.Supported](m)
	for s := range e { // one by one: states of many sites need room
		for i := range x {
			if x[i] = int32(levels - 1 - (s - random)); s < random {
				x[i] = int32(intN(levels))
			}
		}
		if repairs {
			supported.Repair(x)
		}
		m.Energy(e[s:s+1], x)
	}
	add("energies of test states", e)
}

package sampler

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Named recipes say what checkpoints and messages call them, whatever becomes
// of their Go names: "dmala". A recipe of one's own that has no name goes by its
// Go type. Models, and functions that are a field of a recipe, may be Named too:
// checkpoints then tell them apart by their names.
type Named interface{ Name() string }

// Settings adds the shape, the method with all its fields, and what the energies
// of some fixed states say of the model.
func (t *tokens) Settings(add func(name string, value any)) {
	add("levels", t.levels)
	add("method", t.method)
	if n, ok := t.model.(Named); ok {
		add("model", n.Name())
	}
	if _, ok := energy.As[energy.Bipartite](t.model); ok {
		// Matrix products differ in the last bits between instruction sets.
		add("instruction set", simd.Backend())
	}
	add("energies of test states", t.probe())
}

// probes is the number of states by which models are told apart.
const probes = 4

// probe returns the energies of fixed states, drawn uniformly and repaired where
// the model can.
func (t *tokens) probe() []float64 {
	x, e := make([]int32, probes*t.sites), make([]float64, probes)
	r := NewStream(probes, 0)
	for i := range x {
		x[i] = int32(r.IntN(t.levels))
	}
	if s, ok := energy.As[energy.Supported](t.model); ok {
		s.Repair(x)
	}
	t.model.Energy(e, x)
	return e
}

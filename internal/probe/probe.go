// Package probe looks at models: it records a target and a method in a checkpoint, in
// enough detail to distinguish them from others of the same shape, and compares what a
// model claims with its energies.
package probe

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// States seeds the random states whose energies distinguish models. constant is the
// number of states after them: all sites at the last level, at the one before and so
// on. A random state sees a coupling of two sites at level 1 with probability ¼, the
// first constant one always.
const (
	States   = 4
	random   = 8
	constant = 4
)

// Named is sampler.Named in all but name.
type Named interface{ Name() string }

// Target adds the levels, the method with all its fields, the model's name if it
// has one, its energies at fixed states (uniform draws by intN and constant ones,
// repaired where the model can), and its field or table at one of them.
func Target(add func(name string, value any), m energy.Model, method any, intN func(n int) int) {
	sites, levels := m.Shape()
	add("levels", levels)
	add("method", method)
	if n, ok := m.(Named); ok {
		add("model", n.Name())
	}
	if _, ok := energy.As[energy.Bipartite](m); ok {
		// Matrix products differ in the last bits between instruction sets.
		add("instruction set", simd.Backend())
	}
	n := random + min(constant, levels)
	x, e := make([]int32, sites), make([]float64, n)
	supported, repairs := energy.As[energy.Supported](m)
	for s := range e { // one by one: many sites would need much memory
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
	add("energies of test states", fingerprint.Doubles(e))
	table(add, m, x[:sites], levels)
}

// shown is how many entries of a table are recorded in addition to its sum. A table of
// more than large entries is not evaluated.
const (
	shown = 64
	large = 1 << 22
)

// table adds what proposals take from the model at the state x: its field or table,
// and an estimate of it, where the model has one.
func table(add func(name string, value any), m energy.Model, x []int32, levels int) {
	size := len(x) * levels
	binary, compact := energy.As[energy.Binary](m)
	if compact {
		size = len(x)
	}
	if size > large {
		return
	}
	g := make([]float32, size)
	e := make([]float64, 1)
	if compact {
		binary.Field(e, g, x)
		add("field at a test state", sample(g))
	} else if d, ok := energy.As[energy.Differentiable](m); ok {
		d.Gradient(e, g, x)
		add("table at a test state", sample(g))
	}
	if s, ok := energy.As[energy.Stochastic](m); ok {
		if levels == 2 {
			g = g[:len(x)]
		}
		s.Estimate(g, x, []rand.Source{rand.NewPCG(States, 0)})
		add("estimate at a test state", sample(g))
	}
}

// sample returns the sum of what is finite in g, and entries of it.
func sample(g []float32) []float64 {
	sum := 0.0
	for _, w := range g {
		if w-w == 0 {
			sum += float64(w)
		}
	}
	return Spread([]float64{sum}, g, shown)
}

// Spread appends entries of g, from its beginning to its end, as many as most.
func Spread(v []float64, g []float32, most int) []float64 {
	for i := 0; i < len(g); i += (len(g) + most - 1) / most {
		v = append(v, float64(g[i]))
	}
	return v
}

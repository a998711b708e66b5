// Package probe examines models. It describes a model and a method for a checkpoint. The
// description distinguishes them from other models and methods with the same numbers of sites and
// levels. The package also tests whether the optional methods of a model agree with its energies.
package probe

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// States is the seed from which eight test states are drawn. The energies of test states
// distinguish models. After the random states come up to four states in which all sites have the
// same level: the last level, the level before it, and so on. With two levels, a random state
// detects a coupling of two sites at level 1 with probability ¼. The state of all ones always
// detects it.
const (
	States   = 4
	random   = 8 // number of random states
	constant = 4 // maximum number of constant states
)

// Named is implemented by models and methods that have a name. It is a copy of sampler.Named,
// which this package cannot import.
type Named interface{ Name() string }

// Target describes a model and a method by settings, so that a checkpoint cannot be loaded into a
// run with another model or method. It calls add for each setting:
//
//   - the number of levels, the method with all its fields, and the model's name if it has one;
//   - the instruction set, for an energy.Bipartite model;
//   - the model's energies at test states (see [States]);
//   - the model's energy differences (its field or its table) at one of these states.
//
// The function intN draws the random states. If the model is energy.Supported, its method Repair
// makes the probability of all test states positive.
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

// shown is the number of table entries that are recorded in addition to the sum. Tables of more
// than large entries are not evaluated.
const (
	shown = 64
	large = 1 << 22 // maximum number of entries of a table that is evaluated
)

// table records what proposals read from the model at the state x: its field or table, and its
// estimate of the table if it has one.
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

// sample returns the sum of the finite entries of g, followed by some of the entries.
func sample(g []float32) []float64 {
	sum := 0.0
	for _, w := range g {
		if w-w == 0 {
			sum += float64(w)
		}
	}
	return Spread([]float64{sum}, g, shown)
}

// Spread appends at most n evenly spaced entries of g to v.
func Spread(v []float64, g []float32, n int) []float64 {
	for i := 0; i < len(g); i += (len(g) + n - 1) / n {
		v = append(v, float64(g[i]))
	}
	return v
}

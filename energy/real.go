package energy

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Real is an unnormalised log-density over real numbers, p(x) ∝ exp(−E(x)), x ∈ ℝ^sites.
//
// An energy of +Inf means density zero, and NaN means that the evaluation failed. Implementations
// must be safe for concurrent use.
type Real interface {
	// Sites returns the number of coordinates, ≥ 1.
	Sites() int

	// Energy stores in e[s] the energy in nats of the state x[s·sites : (s+1)·sites], for every
	// s. It panics unless len(x) = len(e)·sites.
	Energy(e []float64, x []float32)
}

// Scored is a [Real] that also computes its score, which is the gradient of the log-density.
type Scored interface {
	Real

	// Score stores the score −∇E of every state of x in s, which has the length of x. The score
	// of a state depends on that state alone.
	Score(s, x []float32)
}

// RealFunc is a [Real] given by functions of one state x; a struct literal is ready for use. E
// returns the energy in nats, +Inf for density zero, or NaN for a failure. Grad may be nil if no
// score is needed. Both functions must be safe for concurrent calls and must not modify or keep x.
// Methods panic if Dim < 1, or if they need a function that is nil.
type RealFunc struct {
	Dim  int                       // number of coordinates, ≥ 1
	E    func(x []float32) float64 // energy of one state, in nats
	Grad func(g, x []float32)      // function that stores ∇E(x) in g
}

// Sites returns the number of coordinates, which is the field Dim. It implements [Real].
func (f RealFunc) Sites() int { return f.Dim }

// Energy stores in e the value of the function E for every state of x; it implements [Real].
func (f RealFunc) Energy(e []float64, x []float32) {
	f.check()
	check.Must("energy: RealFunc", "E", f.E)
	check.Len("energy", "x", len(x), len(e)*f.Dim)
	for s := range e {
		e[s] = f.E(x[s*f.Dim : (s+1)*f.Dim])
	}
}

// Score calls the function Grad for every state of x and stores the score −∇E in s; it implements
// [Scored].
func (f RealFunc) Score(s, x []float32) {
	f.check()
	check.Len("energy", "s", len(s), len(x))
	check.Rows("energy", "x", len(x), f.Dim)
	check.Must("energy: RealFunc", "Grad", f.Grad)
	for at := 0; at < len(x); at += f.Dim {
		f.Grad(s[at:at+f.Dim], x[at:at+f.Dim])
	}
	for i, v := range s {
		s[i] = 0 - v
	}
}

func (f RealFunc) check() {
	if f.Dim < 1 {
		panic(fmt.Sprintf("energy: RealFunc{Dim: %d}, want Dim ≥ 1", f.Dim))
	}
}

package proximal

import (
	"github.com/gibbsite-go/gibbsite/constraint"
)

// rounded is a Smooth on float32 where float64 is asked for. It is not safe for
// concurrent use of one value, so that solvers clone it.
type rounded struct{ constraint.Smooth }

// Eval implements constraint.Curved.
func (r rounded) Eval(g, z []float64) { r.Value(g, narrow(z)) }

// Gradient implements constraint.Curved.
func (r rounded) Gradient(dst []float64, j int, z []float64) {
	w := make([]float64, r.Len())
	w[j] = 1
	d := make([]float32, len(z))
	r.Pull(d, narrow(z), w)
	for i, x := range d {
		dst[i] = float64(x)
	}
}

// narrow returns z in float32.
func narrow(z []float64) []float32 {
	v := make([]float32, len(z))
	for i, x := range z {
		v[i] = float32(x)
	}
	return v
}

const (
	firstKappa  = 10 // of the curved rows in the hard form, where multipliers are of order 1
	kappaGrowth = 10 // where that does not suffice
	lastKappa   = SoftGamma / 2
	curvedTol   = 1e-9 // of curved rows in the hard form
	proxSteps   = 60   // linearisations per κ
	roughSteps  = 4    // linearisations in all, where a further step of the runner follows
	roughKappa  = 100  // of the curved rows there
	roughTol    = 1e-8 // for data of order 1
	leastGain   = 0.1  // part of the predicted decrease that a step must bring
	damping     = 4    // change of μ
	settledStep = 100  // tolerances that the last step may have
)

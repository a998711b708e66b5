package proximal

import "github.com/gibbsite-go/gibbsite/constraint"

// Splitter is a set that can separate its linear inequalities from the others.
// [constraint.Linear], [constraint.Slabs] and *series.System implement it. Linear inequalities
// are satisfied exactly, and are checked for contradictions when the [Projector] is compiled.
type Splitter interface {
	// Split returns the linear inequalities and the other inequalities, or nil if there are no
	// others. The linear ones come first in the numbering of the set. The caller does not modify
	// the result.
	Split() (linear constraint.Slabs, curved constraint.Curved)
}

// Named is a set whose rows have names, for use in errors.
type Named interface {
	// RowName returns a description of row or inequality j.
	RowName(j int) string
}

// Validator is a set whose method Validate explains what is wrong with the set. If the linear
// inequalities are invalid, Validate is called, because it can give a more precise reason than
// [constraint.Slabs.Validate].
type Validator interface {
	// Validate checks the set for series of length n and returns an error that describes what is
	// wrong.
	Validate(n int) error
}

// split separates a set into linear rows and curved inequalities.
func split(s constraint.Smooth) (constraint.Slabs, constraint.Curved) {
	if both, ok := s.(Splitter); ok {
		return both.Split()
	}
	if curved, ok := s.(constraint.Curved); ok {
		return constraint.Slabs{}, curved
	}
	return constraint.Slabs{}, rounded{s}
}

// validate returns an error if the rows of a set are invalid. It prefers the set's own
// explanation if the set is a Validator.
func validate(s constraint.Smooth, linear constraint.Slabs, n int) error {
	err := linear.Validate(n)
	if v, ok := s.(Validator); ok && err != nil {
		if own := v.Validate(n); own != nil {
			return own
		}
	}
	return err
}

// rounded adapts a Smooth, which works in float32, to the interface Curved, which works in
// float64. A value is not safe for concurrent use, so solvers clone it.
type rounded struct{ constraint.Smooth }

// Eval stores in g the values of the constraint at the point z, which it first rounds to float32.
// It implements constraint.Curved.
func (r rounded) Eval(g, z []float64) { r.Value(g, narrow(z)) }

// Gradient stores in dst the gradient of inequality j at the point z, which it first rounds to
// float32. It implements constraint.Curved.
func (r rounded) Gradient(dst []float64, j int, z []float64) {
	w := make([]float64, r.Len())
	w[j] = 1
	d := make([]float32, len(z))
	r.Pull(d, narrow(z), w)
	for i, x := range d {
		dst[i] = float64(x)
	}
}

// narrow returns z converted to float32.
func narrow(z []float64) []float32 {
	v := make([]float32, len(z))
	for i, x := range z {
		v[i] = float32(x)
	}
	return v
}

const (
	// initial penalty κ of the curves in the hard form, where multipliers are of order 1
	firstKappa  = 10
	kappaGrowth = 10 // factor by which κ grows if the curves do not hold
	lastKappa   = SoftGamma / 2
	curvedTol   = 1e-9 // tolerance of the curves in the hard form
	proxSteps   = 60   // maximum number of linearisations per κ
	roughSteps  = 4    // total number of linearisations if a further step of the runner follows
	roughKappa  = 100  // penalty κ of the curves if a further step follows
	roughTol    = 1e-8 // tolerance if a further step follows, for data of order 1
	leastGain   = 0.1  // fraction of the predicted decrease that a step must achieve
	damping     = 4    // factor by which μ changes
	settledStep = 100  // largest last step, in multiples of the tolerance
)

package proximal

import "github.com/gibbsite-go/gibbsite/constraint"

// Splitter is a set that knows which of its inequalities are linear, as [constraint.Linear],
// [constraint.Slabs] and series.System do. Linear inequalities are met exactly, and are checked
// for contradictions when the recipe is compiled.
type Splitter interface {
	// Split returns the linear rows, which come first in the numbering of the set, and the other
	// inequalities, or nil if there are none. The caller does not modify the result.
	Split() (linear constraint.Slabs, curved constraint.Curved)
}

// Named is a set that names its rows, for errors.
type Named interface {
	// RowName describes row or inequality j.
	RowName(j int) string
}

// Validator is a set that can explain what is wrong with it better than its linear rows can.
// Validate is called when the rows are invalid.
type Validator interface {
	// Validate checks the set against the length n of the series.
	Validate(n int) error
}

// split takes a set apart into linear rows and curved inequalities.
func split(s constraint.Smooth) (constraint.Slabs, constraint.Curved) {
	if both, ok := s.(Splitter); ok {
		return both.Split()
	}
	if curved, ok := s.(constraint.Curved); ok {
		return constraint.Slabs{}, curved
	}
	return constraint.Slabs{}, rounded{s}
}

// validate returns what is wrong with the rows of a set, in the words of the set
// if it has any.
func validate(s constraint.Smooth, linear constraint.Slabs, n int) error {
	err := linear.Validate(n)
	if v, ok := s.(Validator); ok && err != nil {
		if own := v.Validate(n); own != nil {
			return own
		}
	}
	return err
}

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

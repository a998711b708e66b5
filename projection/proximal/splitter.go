package proximal

import "github.com/gibbsite-go/gibbsite/constraint"

// Splitter is a set that knows which of its inequalities are linear, as
// [constraint.Linear], [constraint.Slabs] and series.System do. Those are
// met exactly and checked for contradictions when the recipe is compiled.
type Splitter interface {
	// Split returns the linear rows, which come first in the numbering of the
	// set, and the others, nil if there are none. The result is only read.
	Split() (linear constraint.Slabs, curved constraint.Curved)
}

// Named is a set that names its rows, for errors.
type Named interface {
	// RowName describes row or inequality j.
	RowName(j int) string
}

// Validator is a set that can explain, better than its linear rows, what is wrong with
// it. It is called when the rows are invalid.
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

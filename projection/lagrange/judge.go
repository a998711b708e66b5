package lagrange

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Validator is a constraint that may be invalid. Validate is called before any other method.
type Validator interface {
	// Validate returns an error that describes what is wrong with the constraint, or nil.
	Validate() error
}

// Partial is a constraint that may not support all of its methods, such as a [constraint.Score].
// All methods of a constraint that is not Partial may be called.
type Partial interface {
	// Leads reports whether the constraint has derivatives, so that Value and Pull (the
	// vector–Jacobian product) may be called.
	Leads() bool

	// Decides reports whether the constraint can be evaluated on sequences, so that Violation
	// may be called.
	Decides() bool
}

// asSet returns s itself if its Violation is usable, and otherwise a set that evaluates s at
// one-hot rows.
func asSet(s constraint.Smooth, sites, levels int) constraint.Set {
	set, ok := s.(constraint.Set)
	if p, partial := s.(Partial); partial && !p.Decides() {
		ok = false
	}
	if ok {
		return set
	}
	return oneHot{s, sites, levels}
}

// oneHot evaluates a smooth constraint on sequences, by its value at their one-hot rows. It
// allocates memory in every call, unlike a Set.
type oneHot struct {
	constraint.Smooth
	sites, levels int
}

// Violation stores in g the values of the constraint at the one-hot rows of each sequence in x.
// It implements [constraint.Set].
func (o oneHot) Violation(g []float64, x []int32) {
	v := make([]float32, o.sites*o.levels)
	m := o.Len()
	for s := 0; s*o.sites < len(x); s++ {
		clear(v)
		for i, l := range x[s*o.sites : (s+1)*o.sites] {
			v[i*o.levels+int(l)] = 1
		}
		o.Value(g[s*m:(s+1)*m], v)
	}
}

// target holds the problem that a search solves: a recipe with its defaults, and the shape.
type target struct {
	recipe Projector
	smooth constraint.Smooth
	judge  constraint.Set
	// compiled language, which contains all sequences if free is true
	within        *projection.PathProjection
	free          bool // true if the recipe has no language
	sites, levels int
	name          string
}

// violationOf returns the largest entry of g, or NaN if any entry is NaN.
func violationOf(g []float64) float64 {
	worst := math.Inf(-1)
	for _, v := range g {
		if v != v {
			return v
		}
		worst = max(worst, v)
	}
	return worst
}

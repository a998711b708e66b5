package projection

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// clash returns parts that have no sequence in common, as empty tells, every one of
// them needed for that: each part goes that can (deletion; Chinneck, Feasibility
// and Infeasibility in Optimization, 2008, chapter 2). A part stays where it is too
// costly to tell.
func clash(parts []constraint.Automaton, empty func(parts []constraint.Automaton) bool) []constraint.Automaton {
	left := slices.Clone(parts)
	for i := 0; i < len(left); {
		if fewer := slices.Delete(slices.Clone(left), i, i+1); empty(fewer) {
			left = fewer
		} else {
			i++
		}
	}
	return left
}

package projection

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// InfeasibleError means that no sequence of positive weight satisfies a constraint. It
// wraps [constraint.ErrInfeasible].
type InfeasibleError struct {
	// Constraint is the name of the constraint, or the type of its automaton,
	// or those of the parts of an intersection.
	Constraint string

	// Site is the first site at which no token of positive weight leads to a sequence of
	// the language. It is the number of sites if every site has a token but no sequence
	// is accepted.
	Site int

	// Clash names the parts of an intersection that exclude each other at this length,
	// whatever the weights are: without any one of them there would be sequences. It is
	// nil unless compiling found such parts. For the names of parts see
	// [constraint.DFA.Named].
	Clash []string
}

// Error implements error.
func (e *InfeasibleError) Error() string {
	why := ""
	if len(e.Clash) == 1 {
		why = fmt.Sprintf(" (%s by itself)", e.Clash[0])
	} else if len(e.Clash) > 1 {
		why = fmt.Sprintf(" (because of %s together)", strings.Join(e.Clash, " and "))
	}
	return fmt.Sprintf("projection: %s at site %d: %v%s", e.Constraint, e.Site, constraint.ErrInfeasible, why)
}

// Unwrap returns [constraint.ErrInfeasible].
func (e *InfeasibleError) Unwrap() error { return constraint.ErrInfeasible }

package projection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// InfeasibleError says that no sequence of positive weight satisfies a
// constraint. It wraps [constraint.ErrInfeasible].
type InfeasibleError struct {
	// Constraint is the name of the constraint, or the type of its automaton,
	// or those of the parts of an intersection.
	Constraint string

	// Site is where the language dies: the first site at which no token of
	// positive weight keeps a sequence of the language within reach. It is the
	// number of sites if everything can be read and nothing is accepted.
	Site int

	// Clash names the parts of an intersection that exclude each other at this
	// length whatever the weights are, where compiling found that out: without
	// any one of them there would be sequences. It is nil otherwise. Parts have
	// the names that they call themselves; see [constraint.DFA.Named].
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

// WeightError says that a log-weight is NaN or +Inf, and where.
type WeightError = trellis.WeightError

// explain names the constraint in errors that speak of sites only.
func explain(name string, err error) error {
	if err == nil {
		return nil
	}
	var dead *trellis.DeadError
	var limit *trellis.LimitError
	switch {
	case errors.As(err, &dead):
		return &InfeasibleError{Constraint: name, Site: dead.Site}
	case errors.As(err, &limit):
		return fmt.Errorf("projection: %s: %w", name, &constraint.LimitError{
			What: "Path: edges", Value: limit.Limit + 1, Bound: limit.Limit,
		})
	}
	return fmt.Errorf("projection: %s: %w", name, err)
}

// NotConverged says that an iteration ended before its conditions held. The
// best iterate is what the destination of the call holds.
type NotConverged struct {
	Method         string  // what iterated, for instance "proximal"
	Residual, Want float64 // of the conditions, Residual > Want
	Iterations     int     // that were made
}

// Error implements error.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("%s: residual = %.3g after %d iterations, want ≤ %.3g", e.Method, e.Residual, e.Iterations, e.Want)
}

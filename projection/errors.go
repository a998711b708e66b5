package projection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// WeightError reports a log-weight that is NaN or +Inf, and its position.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error implements error.
func (e *WeightError) Error() string { return (*algebra.WeightError)(e).Error() }

// explain names the constraint in errors that name sites only.
func explain(name string, err error) error {
	if err == nil {
		return nil
	}
	var dead *algebra.DeadError
	var weight *algebra.WeightError
	switch {
	case errors.As(err, &dead):
		return &InfeasibleError{Constraint: name, Site: dead.Site}
	case errors.As(err, &weight):
		err = (*WeightError)(weight)
	}
	return fmt.Errorf("projection: %s: %w", name, err)
}

// NotConverged is the error of an iteration that ended before its conditions were met. The
// destination of the call then holds the best iterate.
type NotConverged struct {
	Method         string  // what iterated, for instance "proximal"
	Residual, Want float64 // of the conditions, Residual > Want
	Iterations     int     // that were made
}

// Error implements error.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("%s: residual = %.3g after %d iterations, want ≤ %.3g", e.Method, e.Residual, e.Iterations, e.Want)
}

// InfeasibleError reports that no sequence of positive weight satisfies a constraint. It wraps
// [constraint.ErrInfeasible].
type InfeasibleError struct {
	// Constraint is the name of the constraint or the type of its automaton. For an intersection
	// it lists those of the parts.
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

// clash returns parts that have no sequence in common, as empty reports, and every
// one of which is needed for that: each part that can be left out is (deletion;
// Chinneck, Feasibility and Infeasibility in Optimization, 2008, chapter 2). A part
// stays if finding out is too costly.
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

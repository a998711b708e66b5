package projection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// WeightError reports that the log-weight of a level at a site is NaN or +Inf.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error returns a message with the site, the level and the weight.
func (e *WeightError) Error() string { return (*algebra.WeightError)(e).Error() }

// explain converts an error that names only a site to one that also names the constraint.
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

// NotConverged reports that an iteration ended before its stopping conditions were met. The
// destination slice then holds the best iterate.
type NotConverged struct {
	Method string // name of the iteration, for instance "proximal"
	// remaining error in the stopping conditions; bound that this error exceeds
	Residual, Want float64
	Iterations     int // number of iterations made
}

// Error returns a message with the method, the residual, the bound and the number of iterations.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("%s: residual = %.3g after %d iterations, want ≤ %.3g", e.Method, e.Residual, e.Iterations, e.Want)
}

// InfeasibleError reports that no sequence of positive weight satisfies a constraint. It wraps
// [constraint.ErrInfeasible].
type InfeasibleError struct {
	// Constraint is the name of the constraint or, if it has no name, the type of its automaton.
	// For an intersection, it lists the names of the parts.
	Constraint string

	// Site is the first site at which no token of positive weight leads to a sequence of the
	// language. If there is no such site, but still no sequence is accepted, Site is the number of
	// sites.
	Site int

	// Clash is set for an intersection. It holds the names of parts that exclude each other at this
	// length, whatever the weights. If any one of these parts were removed, some sequence would be
	// allowed. Clash is nil if compiling did not find such parts. For the names of parts see
	// [constraint.DFA.Named].
	Clash []string
}

// Error returns a message with the constraint, the site and the clashing parts.
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

// clash returns a minimal set of parts that have no sequence in common. It removes every part
// without which isEmpty still reports true for the other parts. If the test of a part is too
// costly, it keeps that part. This is the deletion filter of Chinneck (Feasibility and
// Infeasibility in Optimization, 2008, chapter 2).
func clash(parts []constraint.Automaton, isEmpty func(parts []constraint.Automaton) bool) []constraint.Automaton {
	left := slices.Clone(parts)
	for i := 0; i < len(left); {
		if fewer := slices.Delete(slices.Clone(left), i, i+1); isEmpty(fewer) {
			left = fewer
		} else {
			i++
		}
	}
	return left
}

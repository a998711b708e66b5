package projection

import (
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// WeightError is the error of a log-weight that is NaN or +Inf, with its place.
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

// NotConverged is the error of an iteration that ended before its conditions held. The
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

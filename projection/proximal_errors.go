package projection

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// NotConverged says that an iteration ended before its conditions held. The
// best iterate is what the destination of the call holds.
type NotConverged struct {
	Method         string  // for instance "Proximal"
	Residual, Want float64 // of the conditions, Residual > Want
	Iterations     int
}

func (e *NotConverged) Error() string {
	return fmt.Sprintf("projection: %s: residual = %.3g after %d iterations, want ≤ %.3g", e.Method, e.Residual, e.Iterations, e.Want)
}

// ContradictionError says that linear rows exclude each other, and proves it:
// with the multipliers w, the sum Σ_j w_j·(a_j·z) would have to be at most
// −Slack, but it is zero, up to Slope·‖z‖ for rounding, for every z. It wraps
// [constraint.ErrInfeasible].
type ContradictionError struct {
	Rows         []int // that take part, in the order of the system
	Multiplier   []float64
	Slack, Slope float64
	Names        []string // of the rows, if the system names them
}

func (e *ContradictionError) Error() string {
	names := e.Names
	if names == nil {
		for _, j := range e.Rows {
			names = append(names, fmt.Sprintf("row %d", j))
		}
	}
	more := ""
	if len(names) > 4 {
		more = fmt.Sprintf(" and %d more", len(names)-4)
		names = names[:4]
	}
	return fmt.Sprintf("projection: Proximal: %s%s exclude each other: %v", strings.Join(names, ", "), more, constraint.ErrInfeasible)
}

// Unwrap returns [constraint.ErrInfeasible].
func (e *ContradictionError) Unwrap() error { return constraint.ErrInfeasible }

package proximal

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// ContradictionError says that linear rows exclude each other, and proves it:
// with the multipliers w, the sum Σ_j w_j·(a_j·z) would have to be at most
// −Slack, but it is zero, up to Slope·‖z‖ for rounding, for every z. It wraps
// [constraint.ErrInfeasible].
type ContradictionError struct {
	Rows         []int     // that take part, in the order of the system
	Multiplier   []float64 // w, one per row
	Slack, Slope float64   // of the proof, Slack > 0
	Names        []string  // of the rows, if the system names them
}

// Error names the rows that exclude each other.
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
	return fmt.Sprintf("proximal: %s%s exclude each other: %v", strings.Join(names, ", "), more, constraint.ErrInfeasible)
}

// Unwrap returns [constraint.ErrInfeasible].
func (e *ContradictionError) Unwrap() error { return constraint.ErrInfeasible }

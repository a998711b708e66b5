package proximal

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// ContradictionError is the error of linear rows that exclude each other, with a proof:
// for the multipliers w, the rows require Σ_j w_j·(a_j·z) ≤ −Slack, but the sum is zero
// for every z, up to Slope·‖z‖ for rounding. It wraps [constraint.ErrInfeasible].
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

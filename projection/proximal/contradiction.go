package proximal

import (
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

const (
	leastSlack = 1e-9 // contradictions with less slack count as rounding errors
	farReach   = 1e6  // bound on the norm of points considered, for data of order 1
)

// contradicts reports whether w.p, a change of multipliers, proves that no z of norm up to
// farReach satisfies the first m rows. It adjusts w.p to a valid proof. Rows from number rows
// on are tangents and are not used. See [ContradictionError].
func (w *newton) contradicts(m, rows int) bool {
	slack, total := 0.0, 0.0
	clear(w.sum)
	for j, p := range w.p[:m] {
		if j >= rows { // tangents exclude nothing
			w.p[j] = 0
			continue
		}
		if p > 0 && math.IsInf(w.hi[j], 1) || p < 0 && math.IsInf(w.lo[j], -1) {
			w.p[j] = 0
		}
		if p := w.p[j]; p != 0 {
			slack -= w.support(j, p)
			total += math.Abs(p)
			w.axpy(j, p, w.sum)
		}
	}
	return slack > leastSlack*total && slack > farReach*math.Sqrt(simd.Dot64(w.sum, w.sum))
}

// explain returns the error for the proof in w.p. name returns the name of a row; it may be
// nil.
func (w *newton) explain(name func(row int) string) error {
	e := &ContradictionError{}
	clear(w.sum)
	for j, p := range w.p {
		if p != 0 {
			e.Rows = append(e.Rows, int(w.origin[j]))
			e.Multiplier = append(e.Multiplier, p/w.factor[j])
			e.Slack -= w.support(j, p)
			w.axpy(j, p, w.sum)
			if name != nil {
				e.Names = append(e.Names, name(int(w.origin[j])))
			}
		}
	}
	e.Slope = math.Sqrt(simd.Dot64(w.sum, w.sum))
	return e
}

// ContradictionError reports linear inequalities (rows) that cannot hold together, and holds a
// proof. Multiply every row j by its multiplier w_j and add up the results. The sum requires Σ_j
// w_j·(a_j·z) ≤ −Slack, where a_j holds the coefficients of row j. But this sum is zero for every
// z, apart from rounding errors of at most Slope·‖z‖. The error wraps [constraint.ErrInfeasible].
type ContradictionError struct {
	// numbers of the rows that contradict each other, in the order of the system
	Rows       []int
	Multiplier []float64 // multipliers w of the rows in Rows
	// Slack and Slope in the proof, see [ContradictionError]; Slack > 0
	Slack, Slope float64
	Names        []string // names of the rows; nil if the system does not name them
}

// Error returns a message with the rows that contradict each other.
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

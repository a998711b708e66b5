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
	clear(w.p[m:])
	for j, p := range w.p[:m] {
		// tangents exclude nothing
		if j >= rows || p > 0 && math.IsInf(w.hi[j], 1) || p < 0 && math.IsInf(w.lo[j], -1) {
			w.p[j] = 0
		}
	}
	slack, slope, total := w.proof()
	return slack > leastSlack*total && slack > farReach*slope
}

// proof returns the slack and the slope of the proof in p, see [ContradictionError], and the sum of
// its absolute weights. It leaves the weighted sum of the rows in w.sum.
func (w *newton) proof() (slack, slope, total float64) {
	clear(w.sum)
	for j, p := range w.p {
		if p != 0 {
			slack -= w.support(j, p)
			total += math.Abs(p)
			w.axpy(j, p, w.sum)
		}
	}
	return slack, math.Sqrt(simd.Dot64(w.sum, w.sum)), total
}

// tightens reduces the slope of the proof in p, which comes from rounding errors, and reports whether
// the proof is valid. It leaves the largest weight as it is and changes the other weights by the
// solution of a least-squares problem, as long as that helps and no weight changes its sign.
func (w *newton) tightens() bool {
	apply := w.apply
	w.apply = nil // a proof has nothing to do with the metric
	defer func() { w.apply = apply }()
	slack, slope, total := w.proof()
	for range tightenings {
		if slope <= tightSlope*slack {
			break
		}
		largest := -1
		w.tight = w.tight[:0]
		for j, p := range w.p {
			if p != 0 && (largest < 0 || math.Abs(p) > math.Abs(w.p[largest])) {
				largest = j
			}
		}
		for j, p := range w.p {
			if p != 0 && j != largest {
				w.tight = append(w.tight, int32(j))
			}
		}
		for i, j := range w.tight {
			w.res[i] = -w.dot(int(j), w.sum)
		}
		w.solve(0, 0)
		same := true
		for i, j := range w.tight {
			w.res[i] = w.p[j]
			w.p[j] += w.w[i]
			same = same && w.p[j]*w.res[i] > 0
		}
		better, less, sum := w.proof()
		if !same || !(less*slack < slope*better) {
			for i, j := range w.tight {
				w.p[j] = w.res[i]
			}
			break
		}
		slack, slope, total = better, less, sum
	}
	return slack > leastSlack*total && slack > farReach*slope
}

const (
	tightenings = 5     // least-squares problems for a proof
	tightSlope  = 1e-12 // slope, relative to the slack, below which a proof is not improved
)

// explain returns the error for the proof in w.p. name returns the name of a row; it may be
// nil.
func (w *newton) explain(name func(row int) string) error {
	e := &ContradictionError{}
	e.Slack, e.Slope, _ = w.proof()
	for j, p := range w.p {
		if p != 0 {
			e.Rows = append(e.Rows, int(w.origin[j]))
			e.Multiplier = append(e.Multiplier, p/w.factor[j])
			if name != nil {
				e.Names = append(e.Names, name(int(w.origin[j])))
			}
		}
	}
	return e
}

// ContradictionError reports linear inequalities (rows) that contradict each other, with a proof.
// Multiply every row j by its multiplier w_j and add up the results. The sum requires
//
//	Σ_j w_j·(a_j·z) ≤ −Slack,
//
// where a_j holds the coefficients of row j, and Slack > 0. However, the left side is zero for
// every z, apart from rounding errors of at most Slope·‖z‖. The error wraps
// [constraint.ErrInfeasible].
type ContradictionError struct {
	// numbers of the rows that contradict each other, in the order of the system
	Rows []int
	// multipliers w_j of the proof (see [ContradictionError]), one for each row in Rows
	Multiplier []float64
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

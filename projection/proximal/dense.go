package proximal

import (
	"github.com/gibbsite-go/gibbsite/internal/activeset"
)

const (
	// denseVariables and denseRows are the sizes of the largest problems for which the
	// active-set method is tried first. It copes with dependent rows, but uses dense columns.
	// Newton's method uses sparse rows.
	denseVariables = 200
	denseRows      = 4000

	// gramTol is the largest residual of the active-set method in a metric that is accepted
	// without improving it by Newton's method, for data of order 1.
	gramTol = 1e-10
)

// dense is the active-set method for the rows of an iteration, with or without a metric.
type dense struct {
	plain  *activeset.Solver
	metric inMetric // used instead of plain if there is a metric
	stale  bool     // true if the metric has changed
	x      []float64
}

// inMetric is an active-set method in a metric: an *activeset.Metric, or an *activeset.Gram if
// there are more than denseVariables variables.
type inMetric interface {
	Factor(apply func(dst, src []float64))
	Refresh(first int)
	Solve(change, u, v, limit []float64, m int, least float64) activeset.Status
	Conflict() (rows []int, weights []float64)
	Steps() int
}

// newDense returns the active-set method for the rows of w.
func newDense(w *newton, metric bool) *dense {
	rows := activeset.Rows{N: w.n, Start: w.start, End: w.end, Index: w.index, Value: w.value, Lo: w.lo, Hi: w.hi}
	switch {
	case metric && w.n > denseVariables:
		return &dense{metric: activeset.NewGram(rows), stale: true}
	case metric:
		return &dense{metric: activeset.NewMetric(rows), stale: true}
	}
	return &dense{plain: activeset.New(rows), x: make([]float64, w.n)}
}

// run solves for the multipliers of rows 0 … m−1, starting from their present values, and
// stores c = −Aᵀy and pc. If rows exclude each other, it stores the multipliers of the proof in
// p. Rows from number tangents on may have changed since the last run. size is the magnitude of
// v.
func (d *dense) run(w *newton, v []float64, m, tangents int, size float64) activeset.Status {
	w.steps, w.inner, w.outer = 0, 0, 0
	if d.metric == nil {
		status := d.plain.Solve(d.x, w.y, v, w.cap, m, size)
		w.steps = d.plain.Steps()
		for i, x := range d.x {
			w.c[i] = x - v[i] // −Aᵀy would carry the rounding errors of large multipliers
		}
		if status == activeset.Infeasible {
			w.show(d.plain.Conflict())
		}
		return status
	}
	switch {
	case d.stale:
		d.metric.Factor(w.apply)
		d.stale = false
	case tangents < w.len():
		d.metric.Refresh(tangents)
	}
	status := d.metric.Solve(w.pc, w.y, v, w.cap, m, size)
	w.steps = d.metric.Steps()
	clear(w.c)
	for j, y := range w.y[:m] {
		if y != 0 {
			w.axpy(j, -y, w.c)
		}
	}
	if status == activeset.Infeasible {
		w.show(d.metric.Conflict())
	}
	return status
}

// show stores the weights of the given rows in w.p, and zeros for all other rows.
func (w *newton) show(rows []int, weights []float64) {
	clear(w.p)
	for k, j := range rows {
		w.p[j] = weights[k]
	}
}

// outcome is the result of an iteration.
type outcome int8

const (
	converged outcome = iota
	excluded          // rows exclude each other; the proof is in p
	failed
)

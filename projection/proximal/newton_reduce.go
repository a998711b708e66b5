package proximal

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/activeset"
)

const (
	reduceStarts = 20  // points from which a contradiction is looked for
	reduceRows   = 100 // of a contradiction whose rows are tried one by one
)

// reduce replaces the proof in p that some of the given number of rows exclude
// each other by one that is as short as the active set finds from a number of
// random points, and from which no row can be left out.
func (w *newton) reduce(rows int) {
	r := &reduction{newton: w, rows: rows, dense: newDense(w, false), limit: make([]float64, w.len()), y: make([]float64, w.len()), v: make([]float64, w.n)}
	largest := 0.0
	for _, p := range w.p {
		largest = max(largest, math.Abs(p))
	}
	for j, p := range w.p {
		if math.Abs(p) <= 1e-6*largest { // it only cancels rounding errors
			w.p[j] = 0
		}
	}
	if w.n <= rescueVariables {
		for j := range rows {
			r.limit[j] = math.Inf(1)
		}
		r.scatter()
	} else {
		r.only()
		r.find()
	}
	if r.only() <= reduceRows {
		r.spare()
	}
}

// reduction is the search for a short proof that rows exclude each other. Rows
// whose limit is 0 are left out.
type reduction struct {
	*newton
	*dense
	rows        int
	limit, y, v []float64
}

// find looks for a proof from v, and stores it in p if it is the shorter one.
func (r *reduction) find() bool {
	clear(r.y)
	if r.plain.Solve(r.x, r.y, r.v, r.limit, r.rows, 0) != activeset.Infeasible {
		return false
	}
	rows, weights := r.plain.Conflict()
	count := 0
	for _, p := range r.p {
		if p != 0 {
			count++
		}
	}
	if len(rows) <= count {
		r.show(rows, weights)
	}
	return true
}

// scatter looks for proofs from random points of the size of the bounds.
func (r *reduction) scatter() {
	size := 1.0
	for j := range r.rows {
		for _, b := range [2]float64{r.lo[j], r.hi[j]} {
			if !math.IsInf(b, 0) {
				size = max(size, math.Abs(b))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range reduceStarts {
		for i := range r.v {
			u := float64(rng.Float64()) // rounded: a compiler may fuse its last product
			r.v[i] = 2 * size * (float64(2*u) - 1)
		}
		r.find()
	}
	clear(r.v)
}

// only leaves out all rows but those of the proof, and returns their number.
func (r *reduction) only() (count int) {
	for j, p := range r.p {
		r.limit[j] = 0
		if p != 0 {
			r.limit[j] = math.Inf(1)
			count++
		}
	}
	return count
}

// spare tries to do without each row of the proof in turn.
func (r *reduction) spare() {
	for j := range r.rows {
		if r.limit[j] == 0 {
			continue
		}
		r.limit[j] = 0
		if r.find() {
			r.only()
			continue
		}
		r.limit[j] = math.Inf(1)
	}
}

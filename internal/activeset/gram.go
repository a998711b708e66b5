package activeset

import "math"

// Gram solves the same problem as a [Metric], for a larger number n of variables. The problem is a
// projection in the norm of a matrix P. A Gram stores the Cholesky factor of T·P·Tᵀ, where the
// matrix T consists of the q rows that hold with equality. Rows stay sparse. An iteration costs
// about n·q + q² operations. For a new P, only the products of P with the rows are computed. A Gram
// is less accurate than a Metric, because it treats more sets of rows as linearly dependent. It is
// not safe for concurrent use. After the first calls it does not allocate.
type Gram struct {
	a      Rows // rows as given to NewGram
	inner  *Solver
	in     *inside
	norm   []float64 // norms of the rows in the metric
	lo, hi []float64 // bounds of the rows scaled to norm 1
	limit  []float64
	u      []float64
	zero   []float64
	x      []float64
}

// NewGram returns a solver for the given sparse rows. Call Factor to set the matrix P before Solve.
func NewGram(a Rows) *Gram {
	n, m := a.N, len(a.Lo)
	f := &Gram{
		a: a, norm: make([]float64, m), lo: make([]float64, m), hi: make([]float64, m), limit: make([]float64, m),
		u: make([]float64, m), zero: make([]float64, n), x: make([]float64, n),
	}
	scaled := a
	scaled.Value, scaled.Lo, scaled.Hi = make([]float64, len(a.Value)), f.lo, f.hi
	f.inner = New(scaled)
	most := min(n, m) + 1
	f.in = &inside{
		p: make([]float64, n*n), at: make([]int32, 0, most), image: make([]float64, n), d: make([]float64, n),
		w: make([]float64, 0, most), index: make([]int32, 0, n), coef: make([]float64, 0, n),
	}
	for k := range most {
		f.in.at = append(f.in.at, int32(k*n))
	}
	f.inner.in = f.in
	return f
}

// Factor sets the matrix P of the metric. The function apply stores P·src in dst. Factor calls
// apply n times, once for each unit vector.
func (f *Gram) Factor(apply func(dst, src []float64)) {
	n := f.a.N
	for i := range n {
		f.zero[i] = 1
		apply(f.in.p[i*n:(i+1)*n], f.zero)
		f.zero[i] = 0
	}
	f.Refresh(0)
}

// Refresh recomputes the data that the solver keeps for all rows j ≥ first. Call it after changing
// these rows.
func (f *Gram) Refresh(first int) {
	n := f.a.N
	for j := first; j < len(f.norm); j++ {
		from, to := f.a.Start[j], f.a.End[j]
		index, value := f.a.Index[from:to], f.a.Value[from:to]
		square := 0.0
		for k, i := range index {
			row := f.in.p[int(i)*n:]
			sum := 0.0
			for l, h := range index {
				sum += float64(value[l] * row[h])
			}
			square += float64(value[k] * sum)
		}
		f.norm[j] = math.Sqrt(max(square, 0))
		if f.norm[j] == 0 {
			f.norm[j] = 1
		}
		for k, x := range value {
			f.inner.a.Value[int(from)+k] = x / f.norm[j]
		}
	}
}

// Solve projects the point v, in the norm of P, onto the set of points that satisfy the rows. It
// stores in change the displacement z − v = −PAᵀu, where z is the projection and A is the matrix of
// rows. The other arguments and the result are the same as for [Solver.Solve].
func (f *Gram) Solve(change, u, v, limit []float64, m int, least float64) Status {
	for j, g := range f.norm[:m] {
		t := f.a.dot(j, v)
		f.lo[j], f.hi[j] = (f.a.Lo[j]-t)/g, (f.a.Hi[j]-t)/g
		f.limit[j], f.u[j] = limit[j]*g, u[j]*g
		if math.Abs(u[j]) >= limit[j] {
			f.u[j] = math.Copysign(f.limit[j], u[j])
		}
	}
	status := f.inner.Solve(change, f.u, f.zero, f.limit, m, least)
	for j, g := range f.norm[:m] {
		u[j] = f.u[j] / g
		if f.inner.at[j] == capped {
			u[j] = math.Copysign(limit[j], f.u[j])
		}
	}
	return status
}

// Conflict returns rows that no point satisfies together, and their weights; see [Solver.Conflict].
// The weights refer to the unscaled rows passed to NewGram.
func (f *Gram) Conflict() (rows []int, weights []float64) {
	rows, weights = f.inner.Conflict()
	for k, j := range rows {
		weights[k] /= f.norm[j]
	}
	return rows, weights
}

// Steps returns the number of iterations of the last Solve.
func (f *Gram) Steps() int { return f.inner.Steps() }

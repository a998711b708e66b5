package activeset

import "math"

// Metric projects a point v onto the solutions of linear inequalities, in the norm defined by a
// positive semidefinite matrix P. It solves
//
//	min_z ½(z−v)ᵀP⁻¹(z−v) + Σ_j cap_j·distance(a_jᵀz, [lo_j, hi_j]),
//
// where z − v is in the range of P, the a_j are the rows of A, and cap_j is a penalty. The solution
// is z = v − PAᵀu with multipliers u. With P = LLᵀ and z = v + Lx, a [Solver] finds x. It projects
// the point 0 onto the set of points that satisfy the rows Lᵀa_j, scaled to norm 1. A Metric is not
// safe for concurrent use. After the first calls it does not allocate.
type Metric struct {
	a      Rows      // rows as given to NewMetric
	inner  *Solver   // solver for the dense rows Lᵀa_j
	p, l   []float64 // P, and its Cholesky factor L by rows
	pivot  []float64 // remaining diagonal of P during the factorisation
	norm   []float64 // norms of the rows Lᵀa_j
	lo, hi []float64 // bounds of the dense rows Lᵀa_j
	limit  []float64
	u      []float64
	zero   []float64
	x      []float64
}

// NewMetric returns a solver for the given sparse rows. Call Factor to set the matrix P before
// Solve.
func NewMetric(a Rows) *Metric {
	n, m := a.N, len(a.Lo)
	f := &Metric{
		a: a, p: make([]float64, n*n), l: make([]float64, n*n), pivot: make([]float64, n), norm: make([]float64, m),
		lo: make([]float64, m), hi: make([]float64, m), limit: make([]float64, m), u: make([]float64, m),
		zero: make([]float64, n), x: make([]float64, n),
	}
	f.inner = New(Rows{N: n, Value: make([]float64, m*n), Lo: f.lo, Hi: f.hi})
	return f
}

// Factor sets the matrix P of the metric and computes its Cholesky factor. The function apply
// stores P·src in dst; Factor calls apply n times, once for each unit vector. The factorisation
// takes n³/3 operations. It is pivoted, and stops when the rest of P is no larger than rounding
// errors.
func (f *Metric) Factor(apply func(dst, src []float64)) {
	n := f.a.N
	for i := range n {
		f.zero[i] = 1
		apply(f.p[i*n:(i+1)*n], f.zero)
		f.zero[i] = 0
	}
	clear(f.l)
	top := 0.0
	for i := range n {
		f.pivot[i] = f.p[i*n+i]
		top = max(top, f.pivot[i])
	}
	for k := range n {
		at := 0
		for i, d := range f.pivot {
			if d > f.pivot[at] {
				at = i
			}
		}
		if !(f.pivot[at] > float64(n)*0x1p-52*top) {
			break
		}
		f.eliminate(k, at)
	}
	f.Refresh(0)
}

// eliminate computes column k of L. The pivot is the variable with index at.
func (f *Metric) eliminate(k, at int) {
	n := f.a.N
	root := math.Sqrt(f.pivot[at])
	row := f.l[at*n : at*n+k]
	for i, d := range f.pivot {
		if math.IsInf(d, -1) || i == at {
			continue
		}
		mean := float64((f.p[at*n+i] + f.p[i*n+at]) / 2)
		x := (mean - dot(row, f.l[i*n:])) / root
		f.l[i*n+k] = x
		f.pivot[i] -= float64(x * x)
	}
	f.l[at*n+k] = root
	f.pivot[at] = math.Inf(-1)
}

// Refresh multiplies all rows j ≥ first by the Cholesky factor of P. Call it after changing these
// rows.
func (f *Metric) Refresh(first int) {
	n := f.a.N
	for j := first; j < len(f.norm); j++ {
		row := f.inner.a.dense(j)
		clear(row)
		for k := f.a.Start[j]; k < f.a.End[j]; k++ {
			i := int(f.a.Index[k])
			axpy(f.a.Value[k], f.l[i*n:(i+1)*n], row)
		}
		f.norm[j] = math.Sqrt(dot(row, row))
		if f.norm[j] == 0 {
			f.norm[j] = 1
		}
		for i := range row {
			row[i] /= f.norm[j]
		}
	}
}

// Solve projects the point v, in the norm of P, onto the set of points that satisfy the rows. It
// stores in change the displacement z − v = −PAᵀu, where z is the projection and A is the matrix of
// rows. The other arguments and the result are the same as for [Solver.Solve].
func (f *Metric) Solve(change, u, v, limit []float64, m int, least float64) Status {
	f.scale(u, v, limit, m)
	status := f.inner.Solve(f.x, f.u, f.zero, f.limit, m, least)
	for j, g := range f.norm[:m] {
		u[j] = f.u[j] / g
		if f.inner.at[j] == capped {
			u[j] = math.Copysign(limit[j], f.u[j])
		}
	}
	n := f.a.N
	for i := range change {
		change[i] = dot(f.l[i*n:(i+1)*n], f.x)
	}
	return status
}

// scale stores the bounds, caps and multipliers of the dense rows.
func (f *Metric) scale(u, v, limit []float64, m int) {
	for j, g := range f.norm[:m] {
		t := f.a.dot(j, v)
		f.lo[j], f.hi[j] = (f.a.Lo[j]-t)/g, (f.a.Hi[j]-t)/g
		f.limit[j], f.u[j] = limit[j]*g, u[j]*g
		if math.Abs(u[j]) >= limit[j] {
			f.u[j] = math.Copysign(f.limit[j], u[j])
		}
	}
}

// Conflict returns rows that no point satisfies together, and their weights; see [Solver.Conflict].
// The weights refer to the unscaled rows passed to NewMetric.
func (f *Metric) Conflict() (rows []int, weights []float64) {
	rows, weights = f.inner.Conflict()
	for k, j := range rows {
		weights[k] /= f.norm[j]
	}
	return rows, weights
}

// Steps returns the number of iterations of the last Solve.
func (f *Metric) Steps() int { return f.inner.Steps() }

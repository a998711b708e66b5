package activeset

import "math"

// factor is the thin QR factorisation of the tight rows, one column of Q and of
// R for each, in the order in which they entered.
type factor struct {
	n    int
	rows []int     // the tight rows
	q    []float64 // column k is k·n … (k+1)·n−1
	r    []float64 // column k has k+1 numbers, from k·n

	z []float64 // of direction: what a row has outside the span of Q
	y []float64 // Qᵀ times that row
	c []float64 // its coefficients in terms of the tight rows
}

func (f *factor) col(k int) []float64 { return f.q[k*f.n : (k+1)*f.n] }

// reach makes room for one more column.
func (f *factor) reach() {
	if need := (len(f.rows) + 1) * f.n; len(f.q) < need {
		f.q = append(f.q, make([]float64, max(need, 2*len(f.q))-len(f.q))...)
		f.r = append(f.r, make([]float64, len(f.q)-len(f.r))...)
	}
}

// direction stores z = (I − QQᵀ)a, y = Qᵀa and c = R⁻¹y for row j, and returns
// ‖z‖. It orthogonalises again while the norm halves.
func (f *factor) direction(a *Rows, j int) float64 {
	count := len(f.rows)
	clear(f.z)
	a.axpy(j, 1, f.z)
	f.y, f.c = f.y[:count], f.c[:count]
	for k := range count {
		f.y[k] = a.dot(j, f.col(k))
	}
	for k, y := range f.y {
		axpy(-y, f.col(k), f.z)
	}
	old, norm := 1.0, math.Sqrt(dot(f.z, f.z))
	for pass := 0; pass < 3 && norm <= old/2; pass++ {
		for k := range count {
			s := dot(f.col(k), f.z)
			f.y[k] += s
			axpy(-s, f.col(k), f.z)
		}
		old, norm = norm, math.Sqrt(dot(f.z, f.z))
	}
	copy(f.c, f.y)
	f.back(f.c)
	return norm
}

// add appends the row that direction was called for.
func (f *factor) add(j int, norm float64) {
	f.reach()
	k := len(f.rows)
	col := f.col(k)
	for i, v := range f.z {
		col[i] = v / norm
	}
	copy(f.r[k*f.n:], f.y)
	f.r[k*f.n+k] = norm
	f.rows = append(f.rows, j)
}

// drop removes column k, and makes R triangular again by rotations.
func (f *factor) drop(k int) {
	last := len(f.rows) - 1
	n := f.n
	for j := k; j < last; j++ {
		copy(f.r[j*n:j*n+j+2], f.r[(j+1)*n:(j+1)*n+j+2])
		f.rows[j] = f.rows[j+1]
	}
	f.rows = f.rows[:last]
	for j := k; j < last; j++ {
		a, b := f.r[j*n+j], f.r[j*n+j+1]
		h := math.Hypot(a, b)
		cos, sin := a/h, b/h
		f.r[j*n+j] = h
		for l := j + 1; l < last; l++ {
			x, y := f.r[l*n+j], f.r[l*n+j+1]
			f.r[l*n+j] = float64(cos*x) + float64(sin*y)
			f.r[l*n+j+1] = float64(cos*y) - float64(sin*x)
		}
		rotate(f.col(j), f.col(j+1), cos, sin)
	}
}

// rotate turns the plane of two columns.
func rotate(u, w []float64, cos, sin float64) {
	w = w[:len(u)]
	for i, x := range u {
		y := w[i]
		u[i] = float64(cos*x) + float64(sin*y)
		w[i] = float64(cos*y) - float64(sin*x)
	}
}

// back solves R·x = b in place.
func (f *factor) back(b []float64) {
	for k := len(f.rows) - 1; k >= 0; k-- {
		col := f.r[k*f.n : k*f.n+k+1]
		b[k] /= col[k]
		axpy(-b[k], col[:k], b)
	}
}

// forward solves Rᵀ·x = b in place.
func (f *factor) forward(b []float64) {
	for k := range f.rows {
		col := f.r[k*f.n : k*f.n+k+1]
		b[k] = (b[k] - dot(col[:k], b)) / col[k]
	}
}

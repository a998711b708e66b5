package activeset

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// factor is the thin QR factorisation of the tight rows. It has one column of Q and of R per
// row, in the order in which the rows became tight.
type factor struct {
	n    int
	in   *inside   // data of a metric; nil for the identity
	rows []int     // indices of the tight rows
	q    []float64 // Q by columns: column k is k·n … (k+1)·n−1
	r    []float64 // R by columns: column k has k+1 numbers, from k·n on

	z []float64 // component, outside the span of Q, of the row passed to direction
	y []float64 // Qᵀ times the row passed to direction
	c []float64 // coefficients, with respect to the tight rows, of the row passed to direction
}

func (f *factor) col(k int) []float64 { return f.q[k*f.n : (k+1)*f.n] }

// empty removes all columns.
func (f *factor) empty() {
	f.rows = f.rows[:0]
	if f.in != nil {
		f.in.at = f.in.at[:0]
	}
}

// reach ensures storage for one more column.
func (f *factor) reach() {
	if need := (len(f.rows) + 1) * f.n; len(f.q) < need {
		f.q = append(f.q, make([]float64, max(need, 2*len(f.q))-len(f.q))...)
		f.r = append(f.r, make([]float64, len(f.q)-len(f.r))...)
	}
}

// direction stores z = (I − QQᵀ)a, y = Qᵀa and c = R⁻¹y for row j, and returns ‖z‖. It repeats the
// orthogonalisation as long as each repetition halves the norm.
func (f *factor) direction(a *Rows, j int) float64 {
	if f.in != nil {
		return f.oblique(a, j)
	}
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

// add appends row j, for which direction was called last. The argument norm is the result of
// that call.
func (f *factor) add(j int, norm float64) {
	f.reach()
	k := len(f.rows)
	if f.in != nil {
		f.in.keep(f.q)
	} else {
		col := f.col(k)
		for i, v := range f.z {
			col[i] = v / norm
		}
	}
	copy(f.r[k*f.n:], f.y)
	f.r[k*f.n+k] = norm
	f.rows = append(f.rows, j)
}

// drop removes column k and restores the triangular form of R by rotations.
func (f *factor) drop(k int) {
	last := len(f.rows) - 1
	n := f.n
	if f.in != nil {
		f.in.forget(k)
	}
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
		if f.in == nil {
			rotate(f.col(j), f.col(j+1), cos, sin)
		}
	}
}

// rotate applies a plane rotation to two columns.
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

// imageOf stores P times row j in in.image.
func (f *factor) imageOf(a *Rows, j int) {
	in := f.in
	in.index = in.index[:0]
	from, to := a.Start[j], a.End[j]
	for _, i := range a.Index[from:to] {
		in.index = append(in.index, i*int32(f.n))
	}
	clear(in.image)
	simd.Fold(in.image, f.n, in.p, in.index, a.Value[from:to])
}

// within stores y = R⁻ᵀA_T·P·a and c = R⁻¹y for row j. It returns ‖a‖² − ‖y‖² in the metric P,
// the squared norm of the row's component outside the span of the tight rows.
func (f *factor) within(a *Rows, j int) (square float64) {
	f.imageOf(a, j)
	count := len(f.rows)
	f.y, f.c = f.y[:count], f.c[:count]
	for k, row := range f.rows {
		f.y[k] = a.dot(row, f.in.image)
	}
	f.forward(f.y)
	copy(f.c, f.y)
	f.back(f.c)
	return a.dot(j, f.in.image) - dot(f.y, f.y)
}

// oblique does the work of direction in a metric: z = P·(a − A_Tᵀc), and the norm is that of
// P⁻¹. It corrects c while the norm is small.
func (f *factor) oblique(a *Rows, j int) float64 {
	f.within(a, j)
	in := f.in
	copy(f.z, in.image)
	clear(in.d)
	a.axpy(j, 1, in.d)
	in.w = append(in.w[:0], f.c...)
	f.less(a, in.w)
	norm := math.Sqrt(max(dot(in.d, f.z), 0))
	for pass := 0; pass < 2 && norm <= correctBelow; pass++ {
		for k, row := range f.rows {
			in.w[k] = a.dot(row, f.z)
		}
		f.forward(in.w)
		f.back(in.w)
		for k, w := range in.w {
			f.c[k] += w
		}
		f.less(a, in.w)
		norm = math.Sqrt(max(dot(in.d, f.z), 0))
	}
	return norm
}

// correctBelow is the norm of a row's component outside the span of the tight rows below which
// the row's coefficients are corrected.
const correctBelow = 0.1

// less subtracts from d the tight rows weighted by w, and from z their images with the same
// weights. It also negates w.
func (f *factor) less(a *Rows, w []float64) {
	for k, row := range f.rows {
		w[k] = -w[k]
		a.axpy(row, w[k], f.in.d)
	}
	simd.Fold(f.z, f.n, f.q, f.in.at, w)
}

// short stores y = Qᵀa and c = R⁻¹y for row j, and returns the norm of z. If the row is far from
// the span of the tight rows, short does not store z.
func (f *factor) short(a *Rows, j int) float64 {
	if f.in != nil {
		if square := f.within(a, j); square > farEnough {
			return math.Sqrt(square)
		}
	}
	return f.direction(a, j)
}

// farEnough is the squared norm above which at least eight digits remain after cancellation.
const farEnough = 1e-8

package activeset

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Rows is the system lo ≤ A·x ≤ hi. The rows of A have norm 1 (or 0) and are sparse or dense. A
// solver reads the slices in every call, so a caller may change their entries between calls.
type Rows struct {
	N          int     // number of variables in x
	Start, End []int32 // row j has the entries Start[j] … End[j]−1 of Index and Value
	// number of the variable of each entry; nil for dense rows, where row j is Value[j·N:(j+1)·N]
	Index  []int32
	Value  []float64 // values of the entries
	Lo, Hi []float64 // bounds of each row; −Inf or +Inf means no bound on that side
}

// dense returns row j of a dense system.
func (r *Rows) dense(j int) []float64 { return r.Value[j*r.N : (j+1)*r.N] }

// dot returns the product of row j and x.
func (r *Rows) dot(j int, x []float64) float64 {
	if r.Index == nil {
		return dot(r.dense(j), x)
	}
	from, to := r.Start[j], r.End[j]
	index, value := r.Index[from:to], r.Value[from:to]
	sum := 0.0
	for k, i := range index {
		sum += float64(value[k] * x[i])
	}
	return sum
}

// axpy adds row j, multiplied by the number a, to x.
func (r *Rows) axpy(j int, a float64, x []float64) {
	if r.Index == nil {
		axpy(a, r.dense(j), x)
		return
	}
	from, to := r.Start[j], r.End[j]
	index, value := r.Index[from:to], r.Value[from:to]
	for k, i := range index {
		x[i] += float64(a * value[k])
	}
}

// dot returns the inner product of two vectors of equal length.
func dot(x, y []float64) float64 { return simd.Dot64(x, y[:len(x)]) }

// axpy adds a·x to y.
func axpy(a float64, x, y []float64) { simd.Axpy64(a, x, y[:len(x)]) }

// largest returns max |x_i|.
func largest(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(v))
	}
	return top
}

// inside holds the data that a factor needs in the metric P, in addition to R, with RᵀR =
// A_T·P·A_Tᵀ. Column k of q is P·a_k and begins at q[at[k]].
type inside struct {
	p     []float64 // metric P, row by row
	at    []int32
	image []float64 // P·a of the entering row
	d     []float64 // entering row minus its combination of the tight rows; P·d = z
	w     []float64 // scratch, one entry per tight row
	index []int32   // positions in P of the entries of a sparse product
	coef  []float64
}

// product adds P·d to dst.
func (in *inside) product(dst, d []float64) {
	in.index, in.coef = in.index[:0], in.coef[:0]
	for i, x := range d {
		if x != 0 {
			in.index, in.coef = append(in.index, int32(i*len(d))), append(in.coef, x)
		}
	}
	simd.Fold(dst, len(d), in.p, in.index, in.coef)
}

// keep copies the image of the entering row to an unused place of q. That place is the first entry
// of in.at beyond its length.
func (in *inside) keep(q []float64) {
	in.at = in.at[:len(in.at)+1]
	copy(q[in.at[len(in.at)-1]:], in.image)
}

// forget marks the place of column k as unused.
func (in *inside) forget(k int) {
	place, last := in.at[k], len(in.at)-1
	copy(in.at[k:], in.at[k+1:])
	in.at[last] = place
	in.at = in.at[:last]
}

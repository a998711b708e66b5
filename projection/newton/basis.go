package newton

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// basis is an orthonormal basis of the rows of a Jacobian, J = RQ, where R is lower trapezoidal
// and the rows of Q are the basis. Rows of J that depend on earlier rows are left out.
type basis struct {
	n, m  int
	q     []float64 // Q, an m × n matrix of which the first rank rows are in use
	r     []float64 // R, an m × m matrix
	pivot []int     // for each row of Q, the row of J from which it was computed
	y     []float64 // scratch
}

func newBasis(n, m int) *basis {
	return &basis{n: n, m: m, q: make([]float64, m*n), r: make([]float64, m*m), pivot: make([]int, 0, m), y: make([]float64, m)}
}

// dependent is the relative norm of the remainder below which a row counts as dependent on
// earlier rows. It lies between the square root of the rounding error and the differences
// between equations in real problems.
const dependent = 1e-8

// reset removes all rows.
func (b *basis) reset() { b.pivot = b.pivot[:0] }

// next returns the memory for the next row of J.
func (b *basis) next() []float64 { k := len(b.pivot); return b.q[k*b.n : (k+1)*b.n] }

// add adds row j of J. The caller must have stored that row in the slice returned by the method
// next.
func (b *basis) add(j int) {
	k, row := len(b.pivot), b.next()
	r := b.r[j*b.m : (j+1)*b.m]
	clear(r)
	before := math.Sqrt(simd.Dot64(row, row))
	b.remove(row, r)
	norm := math.Sqrt(simd.Dot64(row, row))
	if !(norm > dependent*before) {
		return
	}
	for t := range row {
		row[t] /= norm
	}
	r[k] = norm
	b.pivot = append(b.pivot, j)
}

// remove subtracts from v its component in the span of the basis, and adds the coordinates of
// that component to r.
func (b *basis) remove(v, r []float64) {
	for range 2 { // the second round removes what rounding left
		for k := range b.pivot {
			q := b.q[k*b.n : (k+1)*b.n]
			c := simd.Dot64(q, v)
			r[k] += c
			for t, w := range q {
				v[t] -= float64(c * w)
			}
		}
	}
}

// least adds to dst the x of least norm with Jx = −h, for the rows of J that are not left out.
func (b *basis) least(dst, h []float64) {
	y := b.y[:len(b.pivot)]
	for k, j := range b.pivot {
		r := b.r[j*b.m : (j+1)*b.m]
		s := -h[j]
		for i := range k {
			s -= float64(r[i] * y[i])
		}
		y[k] = s / r[k]
		for t, q := range b.q[k*b.n : (k+1)*b.n] {
			dst[t] += float64(y[k] * q)
		}
	}
}

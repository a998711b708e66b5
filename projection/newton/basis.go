package newton

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// basis is an orthonormal basis of the rows of a Jacobian, J = RQ with R lower
// trapezoidal. Rows that depend on those before them are left out.
type basis struct {
	n, m  int
	q     []float64 // m × n: Q, the first rank rows
	r     []float64 // m × m: R
	pivot []int     // by row of Q: the row of J that it comes from
	y     []float64 // scratch
}

func newBasis(n, m int) *basis {
	return &basis{n: n, m: m, q: make([]float64, m*n), r: make([]float64, m*m), pivot: make([]int, 0, m), y: make([]float64, m)}
}

// dependent is what is left of a row of norm 1 that counts as none: between the square
// root of the rounding error and what equations of a problem differ by.
const dependent = 1e-8

// reset forgets all rows.
func (b *basis) reset() { b.pivot = b.pivot[:0] }

// next returns the storage of the next row of J.
func (b *basis) next() []float64 { k := len(b.pivot); return b.q[k*b.n : (k+1)*b.n] }

// add takes the row j of J from where next said.
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

// remove subtracts from v its component along the rows kept, and adds the
// coordinates of that component to r.
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

// least adds to dst the x of least norm with Jx = −h, as far as the rows kept go.
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

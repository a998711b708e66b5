// Package span owns orthonormal bases of rows, and equations in terms of them.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package span

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// dependent is the distance from the span of the rows before, relative to its
// own length, below which a row adds nothing to it: what rounding leaves of a
// combination of rows with coefficients of order 1e3.
const dependent = 1e-12

// New orthonormalises rows of n numbers by Gram–Schmidt, each twice.
func New(rows []float64, n int) *Basis {
	b := &Basis{N: n, rows: len(rows) / n}
	var coef [][]float64
	for j := range b.rows {
		v := append([]float64(nil), rows[j*n:(j+1)*n]...)
		length := math.Sqrt(Dot(v, v))
		c := make([]float64, len(b.Lead), len(b.Lead)+1)
		for range 2 {
			for k := range b.Lead {
				u := b.U[k*n : (k+1)*n]
				s := Dot(u, v)
				c[k] += s
				for i, x := range u {
					v[i] -= float64(s * x)
				}
			}
		}
		if rest := math.Sqrt(Dot(v, v)); rest > dependent*length {
			c = append(c, rest)
			for _, x := range v {
				b.U = append(b.U, x/rest)
			}
			b.Lead = append(b.Lead, j)
		}
		coef = append(coef, c)
	}
	q := len(b.Lead)
	b.T = make([]float64, b.rows*q)
	for j, c := range coef {
		copy(b.T[j*q:], c)
	}
	return b
}

// Dot returns the inner product.
func Dot(x, y []float64) float64 {
	return simd.Dot64(x, y[:len(x)])
}

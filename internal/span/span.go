// Package span computes orthonormal bases of the rows of a matrix and solves linear equations in
// them.
package span

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// dependent is the largest relative distance from the span of earlier rows at which a row counts
// as dependent. It bounds the rounding error of a combination of rows with coefficients of order
// 1e3.
const dependent = 1e-12

// New computes an orthonormal basis of the space spanned by rows of n numbers each, by
// Gram–Schmidt. It orthogonalises each row twice.
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

// Dot returns the inner product of x and y.
func Dot(x, y []float64) float64 {
	return simd.Dot64(x, y[:len(x)])
}

// Basis is a factorisation T·U of m rows of N numbers, row-major. The rows of U (q × N) are
// orthonormal, and q is the rank. T (m × q) is lower trapezoidal. Row k of U comes from the given
// row Lead[k], so row Lead[k] of T is 0 to the right of column k.
type Basis struct {
	N    int
	U, T []float64
	Lead []int
	rows int
}

// Rank returns the rank q.
func (b *Basis) Rank() int { return len(b.Lead) }

// Solve solves the equations rows·x = y, where rows is the matrix given to [New]. It returns c =
// U·x, the coordinates of x in the basis. If the rows are linearly dependent, c may violate some of
// the equations. The largest violation is returned, relative to the size of the equation's terms.
func (b *Basis) Solve(y []float64) (c []float64, violation float64) {
	q := b.Rank()
	c = make([]float64, q)
	k := 0
	for j, v := range y {
		row, size := b.T[j*q:(j+1)*q], math.Abs(v)
		for i, x := range c[:k] {
			v -= float64(row[i] * x)
			size = max(size, math.Abs(row[i]*x))
		}
		if k < q && b.Lead[k] == j {
			c[k] = v / row[k]
			k++
			continue
		}
		if v != 0 {
			violation = max(violation, math.Abs(v)/size)
		}
	}
	return c, violation
}

// LogVolume returns Σ_k log T[Lead[k], k], the logarithm of a change of volume. Let A consist of
// the q rows with indices Lead[k], which are linearly independent. The linear map from U·x to A·x
// multiplies volumes by e^LogVolume. The log-density of A·x is therefore the log-density of U·x
// minus LogVolume.
func (b *Basis) LogVolume() float64 {
	v := 0.0
	for k, j := range b.Lead {
		v += simd.Log(b.T[j*b.Rank()+k])
	}
	return v
}

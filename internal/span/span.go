// Package span computes orthonormal bases of rows and solves equations in them.
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

// Basis writes rows, m × n and row-major, as T·U, where the rows of U (q × n) are
// orthonormal and q is the rank. T (m × q) is lower trapezoidal: row k of U comes from
// row lead[k], where T is 0 to the right of k.
type Basis struct {
	N    int
	U, T []float64
	Lead []int
	rows int
}

// Rank returns q.
func (b *Basis) Rank() int { return len(b.Lead) }

// Solve returns c such that rows·x = y implies U·x = c, and the largest error of the
// dependent rows, relative to their size.
func (b *Basis) Solve(y []float64) (c []float64, off float64) {
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
			off = max(off, math.Abs(v)/size)
		}
	}
	return c, off
}

// LogVolume returns Σ_k log T[lead[k], k], by which the log-density of rows·x is less
// than that of U·x.
func (b *Basis) LogVolume() float64 {
	v := 0.0
	for k, j := range b.Lead {
		v += simd.Log(b.T[j*b.Rank()+k])
	}
	return v
}

package span

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Basis writes rows, m × n and row-major, as T·U, where the rows of U (q × n) are
// orthonormal and q is their rank. T (m × q) is lower trapezoidal: lead[k] is the
// row that brought row k of U, and T is 0 to the right of k there.
type Basis struct {
	N    int
	U, T []float64
	Lead []int
	rows int
}

// Rank returns q.
func (b *Basis) Rank() int { return len(b.Lead) }

// Solve returns c with U·x = c wherever rows·x = y, and by how much the worst of
// the other rows then fails, relative to its size.
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

package span_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/span"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rows are T·U with orthonormal U, also where some are combinations of others;
// equations in terms of U hold where those of the rows do, and ones that
// contradict each other show.
func TestBasis(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, m = 6, 5
	rows, x := make([]float64, m*n), make([]float64, n)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	for i := range n {
		x[i] = rng.NormFloat64()
		rows[2*n+i] = rows[i] - 3*rows[n+i]
		rows[4*n+i] = 1e-3 * rows[3*n+i]
	}
	b := span.New(rows, n)
	require.Equal(t, 3, b.Rank())
	require.Equal(t, []int{0, 1, 3}, b.Lead)
	y := make([]float64, m)
	for j := range m {
		y[j] = span.Dot(rows[j*n:(j+1)*n], x)
		for i := range n {
			sum := 0.0
			for k := range 3 {
				sum += b.T[j*3+k] * b.U[k*n+i]
			}
			assert.InDelta(t, rows[j*n+i], sum, 1e-14)
		}
	}
	for k := range 3 {
		for l := range 3 {
			want := 0.0
			if k == l {
				want = 1
			}
			assert.InDelta(t, want, span.Dot(b.U[k*n:(k+1)*n], b.U[l*n:(l+1)*n]), 1e-15)
		}
	}
	c, off := b.Solve(y)
	assert.Less(t, off, 1e-14)
	for k := range 3 {
		assert.InDelta(t, span.Dot(b.U[k*n:(k+1)*n], x), c[k], 1e-13)
	}
	y[4] += 0.1
	_, off = b.Solve(y)
	assert.Greater(t, off, 0.01)
	assert.InDelta(t, math.Log(6), span.New([]float64{2, 0, 1, 3}, 2).LogVolume(), 1e-14)
	many := make([]float64, 110*110) // 1e-330 is no float64
	for i := range 110 {
		many[i*110+i] = 1e-3
	}
	assert.InDelta(t, -330*math.Log(10), span.New(many, 110).LogVolume(), 1e-9)
	assert.Zero(t, span.New(make([]float64, 4), 2).Rank())
	c, off = span.New(make([]float64, 4), 2).Solve([]float64{0, 1})
	assert.Empty(t, c)
	assert.Equal(t, 1.0, math.Abs(off))
}

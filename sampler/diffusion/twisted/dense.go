package twisted

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/span"
)

// leastPivot is the least pivot of a Cholesky factor, relative to the largest
// entry of the diagonal: below it a covariance says that a direction is known,
// and rounding decides how well.
const leastPivot = 1e-12

// cholesky replaces the lower triangle of a, n × n, by that of its factor. A
// pivot that is too small is raised.
func cholesky(a []float64, n int) {
	top := 0.0
	for i := range n {
		top = max(top, a[i*n+i])
	}
	if !(top > 0) {
		top = math.SmallestNonzeroFloat64 / leastPivot
	}
	for j := range n {
		row := a[j*n : j*n+j]
		pivot := math.Sqrt(max(a[j*n+j]-span.Dot(row, row), leastPivot*top))
		a[j*n+j] = pivot
		for i := j + 1; i < n; i++ {
			a[i*n+j] = (a[i*n+j] - span.Dot(row, a[i*n:])) / pivot
		}
	}
}

// forward solves G·x = b in place, G the lower triangle of g.
func forward(g, b []float64, n int) {
	for i := range n {
		b[i] = (b[i] - span.Dot(g[i*n:i*n+i], b)) / g[i*n+i]
	}
}

// backward solves Gᵀ·x = b in place.
func backward(g, b []float64, n int) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= g[i*n+i]
		for k := range i {
			b[k] -= float64(g[i*n+k] * b[i])
		}
	}
}

// lower stores G·x in dst.
func lower(dst, g, x []float64, n int) {
	for i := n - 1; i >= 0; i-- {
		dst[i] = span.Dot(g[i*n:i*n+i+1], x)
	}
}

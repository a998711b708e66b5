package twisted

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/span"
)

// leastPivot is the smallest pivot of a Cholesky factor, relative to the largest diagonal entry.
// A smaller pivot is only rounding: its direction has no variance.
const leastPivot = 1e-12

// cholesky replaces the lower triangle of the n × n matrix a by its Cholesky factor. It raises
// pivots that are too small to leastPivot.
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

// forward solves G·x = b in place, where G is the lower triangle of g.
func forward(g, b []float64, n int) {
	for i := range n {
		b[i] = (b[i] - span.Dot(g[i*n:i*n+i], b)) / g[i*n+i]
	}
}

// backward solves Gᵀ·x = b in place, where G is the lower triangle of g.
func backward(g, b []float64, n int) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= g[i*n+i]
		for k := range i {
			b[k] -= float64(g[i*n+k] * b[i])
		}
	}
}

// lower stores in dst the product G·x, where G is the lower triangle of g.
func lower(dst, g, x []float64, n int) {
	for i := n - 1; i >= 0; i-- {
		dst[i] = span.Dot(g[i*n:i*n+i+1], x)
	}
}

const (
	// indefinite is the size of a negative pivot, relative to the largest diagonal entry,
	// above which rounding cannot explain it.
	indefinite = 1e-6

	// leastShare is the smallest eigenvalue given to an indefinite covariance, relative to
	// its largest eigenvalue.
	leastShare = 1e-3

	// largest number of sweeps of rotations; they converge quadratically, in 6 to 10
	sweeps = 30
)

// definite makes a symmetric matrix a, n × n, given by its lower triangle, positive definite. If a
// is indefinite by more than rounding, definite replaces it by a matrix without eigenvalues below
// leastShare times the largest. The covariance of a network can be indefinite, especially near pure
// noise, where it is the difference of two nearly equal numbers times 1/√ᾱ. v and b, n × n, are
// scratch.
func definite(a, v, b []float64, n int) {
	copy(b, a)
	if pivots(b, n) {
		return
	}
	for i := range n {
		for k := range i {
			a[k*n+i] = a[i*n+k]
		}
	}
	jacobi(a, v, n)
	top := 0.0
	for i := range n {
		top = max(top, a[i*n+i])
	}
	if !(top > 0) {
		top = 1 // no information: use the variance of standardised data
	}
	for k := range n {
		a[k*n+k] = max(a[k*n+k], leastShare*top)
	}
	for k := range n {
		b[k] = a[k*n+k]
	}
	for i := range n {
		for j := range i + 1 {
			s := 0.0
			for k := range n {
				s += float64(float64(v[i*n+k]*b[k]) * v[j*n+k])
			}
			a[i*n+j] = s
		}
	}
}

// pivots reports whether a has no pivot that is negative by more than rounding. It overwrites a.
func pivots(a []float64, n int) bool {
	top := 0.0
	for i := range n {
		top = max(top, math.Abs(a[i*n+i]))
	}
	for j := range n {
		d := a[j*n+j]
		if d < -indefinite*top {
			return false
		}
		if d <= leastPivot*top {
			for i := j + 1; i < n; i++ {
				if off := a[i*n+j]; float64(off*off) > indefinite*top*top {
					return false
				}
			}
			continue
		}
		for i := j + 1; i < n; i++ {
			f := a[i*n+j] / d
			for k := j + 1; k <= i; k++ {
				a[i*n+k] -= float64(f * a[k*n+j])
			}
		}
	}
	return true
}

// jacobi diagonalises a symmetric matrix a by rotations and stores its eigenvectors in the
// columns of v (cyclic Jacobi; Golub and Van Loan, section 8.5).
func jacobi(a, v []float64, n int) {
	clear(v[:n*n])
	for i := range n {
		v[i*n+i] = 1
	}
	for range sweeps {
		off, size := 0.0, 0.0
		for i := range n {
			for j := range n {
				x := float64(a[i*n+j] * a[i*n+j])
				if size += x; i != j {
					off += x
				}
			}
		}
		if !(off > 1e-26*size) {
			return
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				if a[p*n+q] == 0 {
					continue
				}
				tau := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
				t := 1 / (math.Abs(tau) + math.Sqrt(1+float64(tau*tau)))
				if tau < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(1+float64(t*t))
				s := t * c
				for k := range n {
					turn(a, k*n+p, k*n+q, c, s)
				}
				for k := range n {
					turn(a, p*n+k, q*n+k, c, s)
				}
				for k := range n {
					turn(v, k*n+p, k*n+q, c, s)
				}
			}
		}
	}
}

// turn rotates entries i and j of the vector a by the angle with cosine c and sine s.
func turn(a []float64, i, j int, c, s float64) {
	x, y := a[i], a[j]
	a[i], a[j] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
}

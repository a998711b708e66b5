package concave

import "math"

// SolvePositive replaces d by a⁻¹d for a symmetric positive definite matrix a, and the
// lower triangle of a by its Cholesky factor. It reports false if a is not positive
// definite. The bits are the same on every GOARCH, unlike those of a library with
// assembly.
func SolvePositive(a, d []float64) bool {
	n := len(d)
	for i := range n {
		for j := range i + 1 {
			v := a[i*n+j]
			for k := range j {
				v -= float64(a[i*n+k] * a[j*n+k])
			}
			if i > j {
				a[i*n+j] = v / a[j*n+j]
				continue
			}
			if !(v > 0) || math.IsInf(v, 1) {
				return false
			}
			a[i*n+i] = math.Sqrt(v)
		}
	}
	for i := range n {
		for k := range i {
			d[i] -= float64(a[i*n+k] * d[k])
		}
		d[i] /= a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			d[i] -= float64(a[k*n+i] * d[k])
		}
		d[i] /= a[i*n+i]
	}
	return true
}

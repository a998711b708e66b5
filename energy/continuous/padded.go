package continuous

import "math"

// padded are diagonal components as the kernels want them: rows of a multiple of 16
// entries, the last of which are zeros.
type padded struct {
	width int
	mean  []float64
	scale []float64 // 1/v, at most the largest finite number
}

// newPadded returns components of the given means and variances, n of each a row.
func newPadded(mean, v []float64, n int) padded {
	w, rows := (n+15)&^15, len(mean)/n
	p := padded{w, make([]float64, rows*w), make([]float64, rows*w)}
	for c := range rows {
		copy(p.mean[c*w:], mean[c*n:(c+1)*n])
		for i, v := range v[c*n : (c+1)*n] {
			p.scale[c*w+i] = min(1/v, math.MaxFloat64)
		}
	}
	return p
}

package denoise

import (
	"math"
)

// band is the inverse covariance of a channel: entry [t·(order+1) + k] belongs
// to (t, t−k).
type band struct {
	order int
	mean  float64
	inv   []float64
}

// fix imposes x[t] = value on the system m·x = d.
func (b *band) fix(m, d []float64, t int, value float64) {
	w := b.order + 1
	for k := 1; k <= b.order; k++ {
		if t >= k {
			d[t-k] -= float64(m[t*w+k] * value)
			m[t*w+k] = 0
		}
		if t+k < len(d) {
			d[t+k] -= float64(m[(t+k)*w+k] * value)
			m[(t+k)*w+k] = 0
		}
	}
	m[t*w], d[t] = 1, value
}

// solve replaces d by m⁻¹·d, m by its Cholesky factor.
func (b *band) solve(m, d []float64) {
	p, w := b.order, b.order+1
	for t := range d {
		for k := min(p, t); k >= 0; k-- { // entry (t, t−k)
			s := m[t*w+k]
			for l := k + 1; l <= min(p, t); l++ {
				if l-k <= p {
					s -= float64(m[t*w+l] * m[(t-k)*w+l-k])
				}
			}
			if k > 0 {
				m[t*w+k] = s / m[(t-k)*w]
			} else {
				m[t*w] = math.Sqrt(s)
			}
		}
	}
	for t := range d {
		for k := 1; k <= min(p, t); k++ {
			d[t] -= float64(m[t*w+k] * d[t-k])
		}
		d[t] /= m[t*w]
	}
	for t := len(d) - 1; t >= 0; t-- {
		for k := 1; k <= p && t+k < len(d); k++ {
			d[t] -= float64(m[(t+k)*w+k] * d[t+k])
		}
		d[t] /= m[t*w]
	}
}

package simd

// The definitions, in plain Go, of the bits that every backend of squares.go gives.

// refSquares goes over a row twice, for eight lanes that stay in registers.
func refSquares(dst, x, m, w []float64) {
	n := len(x)
	for k := range dst {
		var s [lanes]float64
		for l := 0; l < lanes; l += 8 {
			p, q, v := x[l:], m[k*n+l:(k+1)*n], w[k*n+l:(k+1)*n]
			var a, b, c, d, e, f, g, h float64
			for len(p) >= 8 && len(q) >= 8 && len(v) >= 8 {
				a += square(p[0], q[0], v[0])
				b += square(p[1], q[1], v[1])
				c += square(p[2], q[2], v[2])
				d += square(p[3], q[3], v[3])
				e += square(p[4], q[4], v[4])
				f += square(p[5], q[5], v[5])
				g += square(p[6], q[6], v[6])
				h += square(p[7], q[7], v[7])
				if len(p) < lanes || len(q) < lanes || len(v) < lanes {
					break
				}
				p, q, v = p[lanes:], q[lanes:], v[lanes:]
			}
			s[l], s[l+1], s[l+2], s[l+3], s[l+4], s[l+5], s[l+6], s[l+7] = a, b, c, d, e, f, g, h
		}
		dst[k] = halve(&s)
	}
}

func square(x, m, w float64) float64 {
	d := x - m
	return float64(float64(d*d) * w)
}

func refAttract(dst, x, m, w []float64, p float64) {
	m, w, dst = m[:len(x)], w[:len(x)], dst[:len(x)]
	for i, v := range x {
		dst[i] += float64(float64(p*(m[i]-v)) * w[i])
	}
}

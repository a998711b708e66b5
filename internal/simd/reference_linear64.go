package simd

// The definitions, in plain Go, of the bits that every backend of linear64.go gives.

func refDot64(x, y []float64) float64 {
	whole := len(x) &^ (lanes - 1)
	sum := 0.0
	if whole > 0 {
		var s [lanes]float64
		for l := 0; l < lanes; l += 8 { // eight lanes stay in registers
			p, q := x[l:whole], y[l:whole]
			var a, b, c, d, e, f, g, h float64
			for len(p) >= 8 && len(q) >= 8 {
				a += float64(p[0] * q[0])
				b += float64(p[1] * q[1])
				c += float64(p[2] * q[2])
				d += float64(p[3] * q[3])
				e += float64(p[4] * q[4])
				f += float64(p[5] * q[5])
				g += float64(p[6] * q[6])
				h += float64(p[7] * q[7])
				if len(p) < lanes || len(q) < lanes {
					break
				}
				p, q = p[lanes:], q[lanes:]
			}
			s[l], s[l+1], s[l+2], s[l+3], s[l+4], s[l+5], s[l+6], s[l+7] = a, b, c, d, e, f, g, h
		}
		sum = halve(&s)
	}
	return sum + tail64(x[whole:], y[whole:])
}

// tail64 is what is left of an inner product, less than 16 entries.
func tail64(x, y []float64) float64 {
	y = y[:len(x)]
	a, b, i := 0.0, 0.0, 0
	for ; i+1 < len(x); i += 2 {
		a += float64(x[i] * y[i])
		b += float64(x[i+1] * y[i+1])
	}
	if i < len(x) {
		a += float64(x[i] * y[i])
	}
	return a + b
}

func refAxpy64(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float64(a * v)
	}
}

package simd

// The definitions, in plain Go, of the bits that every backend of fold.go gives.

func refFoldRows(dst []float64, n int, m []float64, at []int32, coef []float64) {
	for len(dst) > 0 {
		refFold(dst[:n], m, at, coef[:len(at)])
		dst, coef = dst[n:], coef[len(at):]
	}
}

// refFold is Fold for one row. Four terms at a time spare loads and stores of dst;
// they are added one after the other.
func refFold(dst, m []float64, at []int32, coef []float64) {
	i := 0
	for ; i+3 < len(at); i += 4 {
		x, y, z, w := m[at[i]:], m[at[i+1]:], m[at[i+2]:], m[at[i+3]:]
		x, y, z, w = x[:len(dst)], y[:len(dst)], z[:len(dst)], w[:len(dst)]
		a, b, c, d := coef[i], coef[i+1], coef[i+2], coef[i+3]
		for j := range dst {
			s := dst[j] + float64(a*x[j])
			s += float64(b * y[j])
			s += float64(c * z[j])
			dst[j] = s + float64(d*w[j])
		}
	}
	for ; i < len(at); i++ {
		x, a := m[at[i]:], coef[i]
		x = x[:len(dst)]
		for j := range dst {
			dst[j] += float64(a * x[j])
		}
	}
}

func refFoldMax(dst, m []float64, at []int32, coef []float64) {
	for i, a := range at {
		x, c := m[a:], coef[i]
		x = x[:len(dst)]
		for j := range dst {
			if s := x[j] + c; s > dst[j] {
				dst[j] = s
			}
		}
	}
}

func refRaise(v []float64, by, floor float64) (low bool) {
	for i := range v {
		v[i] *= by
		if v[i] < floor && v[i] > 0 {
			low = true
			v[i] = floor
		}
	}
	return low
}

// refDots goes over a piece four times, for four lanes that stay in registers.
func refDots(dst []float64, n int, m []float64, at []int32, x []float64) {
	for r := 0; len(x) > 0; r++ {
		for i, a := range at {
			var s [lanes]float64
			for l := 0; l < lanes; l += 4 {
				var s0, s1, s2, s3 float64
				for p, q := x[l:n], m[int(a)+l:int(a)+n]; len(p) >= 4 && len(q) >= 4; p, q = p[lanes:], q[lanes:] {
					s0 += float64(p[0] * q[0])
					s1 += float64(p[1] * q[1])
					s2 += float64(p[2] * q[2])
					s3 += float64(p[3] * q[3])
					if len(p) < lanes || len(q) < lanes {
						break
					}
				}
				s[l], s[l+1], s[l+2], s[l+3] = s0, s1, s2, s3
			}
			dst[r*len(at)+i] += halve(&s)
		}
		x = x[n:]
	}
}

package simd

import "math"

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
	i := 0
	for ; i+1 < len(at); i += 2 {
		x, y, a, b := m[at[i]:], m[at[i+1]:], coef[i], coef[i+1]
		x, y = x[:len(dst)], y[:len(dst)]
		for j, most := range dst {
			if s := x[j] + a; s > most {
				most = s
			}
			if s := y[j] + b; s > most {
				most = s
			}
			dst[j] = most
		}
	}
	for ; i < len(at); i++ {
		x, c := m[at[i]:], coef[i]
		x = x[:len(dst)]
		for j := range dst {
			if s := x[j] + c; s > dst[j] {
				dst[j] = s
			}
		}
	}
}

// refRaise compares bits, which are in the order of the numbers that are not
// negative; below 0 and NaN they are greater than those of any floor.
func refRaise(v []float64, by, floor float64) (low bool) {
	if by != 1 {
		for i := range v {
			v[i] *= by
		}
	}
	if !(floor > 0) {
		return false
	}
	least := math.Float64bits(floor) - 1 // of bits less 1, where 0 becomes the greatest
	i := 0
	for ; i < len(v)-3; i += 4 {
		a, b, c, d := math.Float64bits(v[i]), math.Float64bits(v[i+1]), math.Float64bits(v[i+2]), math.Float64bits(v[i+3])
		if a-1 < least || b-1 < least || c-1 < least || d-1 < least {
			low = true
			refFloor(v[i:i+4], floor, least)
		}
	}
	return refFloor(v[i:], floor, least) || low
}

func refFloor(v []float64, floor float64, least uint64) (low bool) {
	for i := range v {
		if math.Float64bits(v[i])-1 < least {
			low, v[i] = true, floor
		}
	}
	return low
}

// refDots goes over a piece twice, for eight lanes that stay in registers.
func refDots(dst []float64, n int, m []float64, at []int32, x []float64) {
	for r := 0; len(x) > 0; r++ {
		for i, a := range at {
			var s [lanes]float64
			for l := 0; l < lanes; l += 8 {
				p, q := x[l:n], m[int(a)+l:int(a)+n]
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
			dst[r*len(at)+i] += halve(&s)
		}
		x = x[n:]
	}
}

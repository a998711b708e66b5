package simd

import (
	"fmt"
	"math"
)

// Fold adds multiples of pieces of m to the rows of dst, which have n columns each. A piece is n
// consecutive entries of m, and piece i begins at index offsets[i]:
//
//	dst[r·n + j] += Σ_i coef[r·len(offsets) + i] · m[offsets[i] + j].
//
// Terms are added in ascending order of i, with every product and every sum rounded to float64.
// Fold panics unless n ≥ 1, len(dst) is a multiple of n, coef has an entry for every row and piece,
// and all pieces lie within m.
func Fold(dst []float64, n int, m []float64, offsets []int32, coef []float64) {
	if n < 1 || len(dst)%n != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, n = %d, want n ≥ 1 and a multiple of it", len(dst), n))
	}
	checkLen("coef", len(coef), len(dst)/n*len(offsets))
	checkPieces(len(m), n, offsets)
	if len(offsets) > 0 {
		foldRows(dst, n, m, offsets, coef)
	}
}

// FoldMax is like [Fold] for a single row, but with the maximum of sums in place of the sum of
// products. Each dst[j] becomes the maximum of itself and of all coef[i] + m[offsets[i] + j]. Terms
// that are NaN are ignored. FoldMax panics unless len(coef) = len(offsets) and all pieces lie
// within m.
func FoldMax(dst, m []float64, offsets []int32, coef []float64) {
	checkLen("coef", len(coef), len(offsets))
	checkPieces(len(m), len(dst), offsets)
	for best >= foldMaxLevel && len(dst) >= 16 && len(offsets) > 0 {
		cols := min(len(dst)&^15, foldTerms)
		step := max(1, foldTerms/cols)
		for i := 0; i < len(offsets); i += step {
			foldMaxRun(dst[:cols], m, offsets[i:min(i+step, len(offsets))], coef[i:])
		}
		dst, m = dst[cols:], m[cols:]
	}
	if len(dst) > 0 {
		refFoldMax(dst, m, offsets, coef)
	}
}

// Dots computes the inner products of the rows of x with pieces of m. Rows have n columns, and
// pieces are as in [Fold]:
//
//	dst[r·len(offsets) + i] += Σ_j x[r·n + j] · m[offsets[i] + j],
//
// where each sum is taken in 16 lanes as in [Sum]. Dots panics unless n is a positive multiple of
// 16, len(x) is a multiple of n, dst has an entry for every row and piece, and all pieces lie
// within m.
func Dots(dst []float64, n int, m []float64, offsets []int32, x []float64) {
	if n < 1 || n%lanes != 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, n = %d, want n ≥ 1, a multiple of 16, and len(x) one of n", len(x), n))
	}
	checkLen("dst", len(dst), len(x)/n*len(offsets))
	checkPieces(len(m), n, offsets)
	if best < dotsLevel || n > foldTerms {
		refDots(dst, n, m, offsets, x)
		return
	}
	step, terms := foldTerms/n/2, len(offsets)
	if len(x) > 2*n {
		step = foldNear / n
	}
	step = max(1, step)
	for i := 0; i < terms; i += step {
		for r := 0; r < len(x)/n; r += 2 {
			dotsRun(min(2, len(x)/n-r), dst[r*terms+i:], m, offsets[i:min(i+step, terms)], x[r*n:], terms, n)
		}
	}
}

// Raise multiplies the entries of v, which must be ≥ 0, by factor. It then raises every result
// between 0 and bound, both exclusive, to bound, and reports whether there were any. NaNs are kept.
func Raise(v []float64, factor, bound float64) (low bool) {
	for best >= raiseLevel && len(v) >= 16 {
		n := min(len(v)&^15, foldTerms)
		low = raiseRun(v[:n], factor, bound) != 0 || low
		v = v[n:]
	}
	return refRaise(v, factor, bound) || low
}

// checkPieces panics unless the pieces of n entries, which begin at the given offsets, lie within a
// slice of the given size.
func checkPieces(size, n int, at []int32) {
	for i, a := range at {
		if a < 0 || int(a) > size-n {
			panic(fmt.Sprintf("simd: offsets[%d] = %d, want 0 to %d", i, a, size-n))
		}
	}
}

func refFoldRows(dst []float64, n int, m []float64, at []int32, coef []float64) {
	for len(dst) > 0 {
		refFold(dst[:n], m, at, coef[:len(at)])
		dst, coef = dst[n:], coef[len(at):]
	}
}

// refFold is Fold for one row. It handles four terms at a time, added one after the other, which
// saves loads and stores of dst.
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

// refRaise is the reference of Raise. It compares bits, which have the order of the nonnegative
// numbers. As bits, negative numbers and NaN are larger than any bound.
func refRaise(v []float64, by, bound float64) (low bool) {
	if by != 1 {
		for i := range v {
			v[i] *= by
		}
	}
	if !(bound > 0) {
		return false
	}
	// Compared with bits − 1, so that 0 becomes the largest number.
	least := math.Float64bits(bound) - 1
	i := 0
	for ; i < len(v)-3; i += 4 {
		a, b, c, d := math.Float64bits(v[i]), math.Float64bits(v[i+1]), math.Float64bits(v[i+2]), math.Float64bits(v[i+3])
		if a-1 < least || b-1 < least || c-1 < least || d-1 < least {
			low = true
			refFloor(v[i:i+4], bound, least)
		}
	}
	return refFloor(v[i:], bound, least) || low
}

func refFloor(v []float64, bound float64, least uint64) (low bool) {
	for i := range v {
		if math.Float64bits(v[i])-1 < least {
			low, v[i] = true, bound
		}
	}
	return low
}

// refDots is the reference of Dots. It traverses each piece twice, for eight lanes that stay in
// registers.
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

// foldTerms is the largest number of products in one call of fold; with AVX2 one takes about .1 ns.
const foldTerms = 1 << 18

// foldMost is the number of rows that share one pass over the pieces.
const foldMost = 4

// foldNear is the number of entries of pieces that stay in the first-level cache while all rows use
// them.
const foldNear = 3 << 10

func foldRows(dst []float64, n int, m []float64, at []int32, coef []float64) {
	cols, terms := n&^15, len(at)
	if best < foldLevel || cols == 0 {
		refFoldRows(dst, n, m, at, coef)
		return
	}
	if rows := len(dst) / n; rows <= foldMost && cols == n && n <= foldTerms/foldMost/terms {
		foldRun(rows, dst, n, m, at, coef, terms, n)
		return
	}
	cols = min(cols, foldTerms/foldMost)
	for from := 0; from < n; from += cols {
		if cols = min(cols, (n-from)&^15); cols == 0 {
			for r := range len(dst) / n {
				refFold(dst[r*n+from:(r+1)*n], m[from:], at, coef[r*terms:(r+1)*terms])
			}
			return
		}
		step := foldTerms / foldMost / cols
		if len(dst) > foldMost*n {
			step = foldNear / cols
		}
		step = max(1, step)
		for i := 0; i < terms; i += step {
			for r := 0; r < len(dst)/n; r += foldMost {
				rows := min(foldMost, len(dst)/n-r)
				foldRun(rows, dst[r*n+from:], n, m[from:], at[i:min(i+step, terms)], coef[r*terms+i:], terms, cols)
			}
		}
	}
}

//go:build amd64 && !purego

package simd

// foldTerms bounds one call of fold, in products: with AVX2 one takes about .1 ns.
const foldTerms = 1 << 18

// foldMost is how many rows share one pass.
const foldMost = 4

// foldNear is how many entries of pieces stay in the first cache while all rows
// go over them.
const foldNear = 3 << 10

func foldRows(dst []float64, n int, m []float64, at []int32, coef []float64) {
	cols, terms := n&^15, len(at)
	if best == purego || cols == 0 {
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

//go:noinline
func foldRun(rows int, dst []float64, stride int, m []float64, at []int32, coef []float64, next, cols int) {
	d, s, p, c := &dst[0], &m[0], &at[0], &coef[0]
	if best == avx512 {
		switch rows {
		case 1:
			fold1AVX512(d, stride, s, p, c, next, len(at), cols)
		case 2:
			fold2AVX512(d, stride, s, p, c, next, len(at), cols)
		case 3:
			fold3AVX512(d, stride, s, p, c, next, len(at), cols)
		default:
			fold4AVX512(d, stride, s, p, c, next, len(at), cols)
		}
		return
	}
	switch rows {
	case 1:
		fold1AVX2(d, stride, s, p, c, next, len(at), cols)
	case 2:
		fold2AVX2(d, stride, s, p, c, next, len(at), cols)
	case 3:
		fold3AVX2(d, stride, s, p, c, next, len(at), cols)
	default:
		fold4AVX2(d, stride, s, p, c, next, len(at), cols)
	}
}

func foldMax(dst, m []float64, at []int32, coef []float64) {
	for best != purego && len(dst) >= 16 {
		cols := min(len(dst)&^15, foldTerms)
		step := max(1, foldTerms/cols)
		for i := 0; i < len(at); i += step {
			foldMaxRun(dst[:cols], m, at[i:min(i+step, len(at))], coef[i:])
		}
		dst, m = dst[cols:], m[cols:]
	}
	if len(dst) > 0 {
		refFoldMax(dst, m, at, coef)
	}
}

//go:noinline
func foldMaxRun(dst, m []float64, at []int32, coef []float64) {
	if best == avx512 {
		foldMaxAVX512(&dst[0], &m[0], &at[0], &coef[0], len(at), len(dst))
	} else {
		foldMaxAVX2(&dst[0], &m[0], &at[0], &coef[0], len(at), len(dst))
	}
}

func raise(v []float64, by, floor float64) (low bool) {
	for best != purego && len(v) >= 16 {
		n := min(len(v)&^15, foldTerms)
		low = raiseRun(v[:n], by, floor) || low
		v = v[n:]
	}
	return refRaise(v, by, floor) || low
}

//go:noinline
func raiseRun(v []float64, by, floor float64) bool {
	if best == avx512 {
		return raiseAVX512(&v[0], by, floor, len(v)) != 0
	}
	return raiseAVX2(&v[0], by, floor, len(v)) != 0
}

func dots(dst []float64, n int, m []float64, at []int32, x []float64) {
	if best == purego || n > foldTerms {
		refDots(dst, n, m, at, x)
		return
	}
	step, terms := foldTerms/n/2, len(at)
	if len(x) > 2*n {
		step = foldNear / n
	}
	step = max(1, step)
	for i := 0; i < terms; i += step {
		for r := 0; r < len(x)/n; r += 2 {
			dotsRun(min(2, len(x)/n-r), dst[r*terms+i:], m, at[i:min(i+step, terms)], x[r*n:], terms, n)
		}
	}
}

//go:noinline
func dotsRun(rows int, dst, m []float64, at []int32, x []float64, next, n int) {
	d, s, p, y := &dst[0], &m[0], &at[0], &x[0]
	switch {
	case best == avx512 && rows == 1:
		dots1AVX512(d, s, p, y, next, len(at), n)
	case best == avx512:
		dots2AVX512(d, s, p, y, next, len(at), n)
	case rows == 1:
		dots1AVX2(d, s, p, y, next, len(at), n)
	default:
		dots2AVX2(d, s, p, y, next, len(at), n)
	}
}

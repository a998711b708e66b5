package simd

import "fmt"

// Fold adds scaled pieces of m to the rows of dst, n columns each:
//
//	dst[r·n + j] += Σ_i coef[r·len(at) + i] · m[at[i] + j],
//
// the terms in ascending order of i, every product and every sum rounded to
// float64. All rows share the pieces, so that several cost little more than one.
// It panics unless n ≥ 1, len(dst) is a multiple of n, there is a coefficient
// for every row and term, and all pieces lie in m.
func Fold(dst []float64, n int, m []float64, at []int32, coef []float64) {
	if n < 1 || len(dst)%n != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, n = %d, want n ≥ 1 and a multiple of it", len(dst), n))
	}
	checkLen("coef", len(coef), len(dst)/n*len(at))
	checkPieces(len(m), n, at)
	if len(at) > 0 {
		foldRows(dst, n, m, at, coef)
	}
}

// FoldMax is [Fold] of one row in (max, +): dst[j] becomes the greatest of
// itself and coef[i] + m[at[i] + j]. A NaN is not greater than anything. It
// panics unless len(coef) = len(at) and all pieces lie in m.
func FoldMax(dst, m []float64, at []int32, coef []float64) {
	checkLen("coef", len(coef), len(at))
	checkPieces(len(m), len(dst), at)
	if len(at) > 0 && len(dst) > 0 {
		foldMax(dst, m, at, coef)
	}
}

// Chop multiplies v ≥ 0 by a factor, puts 0 for what is below floor then, and
// reports whether it did so for anything but zeros. NaN stays.
func Chop(v []float64, by, floor float64) (low bool) { return chop(v, by, floor) }

// checkPieces panics unless pieces of n entries that begin at at lie in a slice.
func checkPieces(size, n int, at []int32) {
	for i, a := range at {
		if a < 0 || int(a) > size-n {
			panic(fmt.Sprintf("simd: at[%d] = %d, want 0 to %d", i, a, size-n))
		}
	}
}

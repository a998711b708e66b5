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

// Dots is the transpose of [Fold] in its coefficients: with the rows of x, n
// columns each,
//
//	dst[r·len(at) + i] += Σ_j x[r·n + j] · m[at[i] + j],
//
// the sum in 16 lanes. It panics unless n is a positive multiple of 16, len(x) of
// n, there is an entry of dst for every row and piece, and all pieces lie in m.
func Dots(dst []float64, n int, m []float64, at []int32, x []float64) {
	if n < 1 || n%lanes != 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, n = %d, want n ≥ 1, a multiple of 16, and len(x) one of n", len(x), n))
	}
	checkLen("dst", len(dst), len(x)/n*len(at))
	checkPieces(len(m), n, at)
	if len(dst) > 0 {
		dots(dst, n, m, at, x)
	}
}

// Raise multiplies v ≥ 0 by a factor, puts floor for what is below it then but
// not zero, and reports whether it did so for anything. NaN stays.
func Raise(v []float64, by, floor float64) (low bool) { return raise(v, by, floor) }

// checkPieces panics unless pieces of n entries that begin at at lie in a slice.
func checkPieces(size, n int, at []int32) {
	for i, a := range at {
		if a < 0 || int(a) > size-n {
			panic(fmt.Sprintf("simd: at[%d] = %d, want 0 to %d", i, a, size-n))
		}
	}
}

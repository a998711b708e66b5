package simd

import "fmt"

// AddRows adds rows of a row-major matrix w, of len(dst) columns, to src:
//
//	dst_j = src_j + Σ_k w[r_k, j]  or  − w[r_k, j],
//
// where rows[k] = r_k adds row r_k and rows[k] = ^r_k (negative) subtracts it,
// and f_j = dst_j rounded to float32. The terms of a column are added in the
// order of rows, each sum rounded to float64; where every sum is exact the order
// is of no consequence, and a state reached by changes has the bits of one made
// afresh. dst may be src. It panics unless len(f) = len(src) = len(dst), len(w)
// is a multiple of len(dst) and rows are rows of w.
func AddRows(dst []float64, f []float32, src []float64, w []float32, rows []int32) {
	n := len(dst)
	checkLen("f", len(f), n)
	checkLen("src", len(src), n)
	if n == 0 {
		return
	}
	checkAdded(len(w), n, rows)
	addRows(dst, f, src, w, n, rows)
}

// AddRows64 is [AddRows] for a matrix of float64, without the sums in float32.
func AddRows64(dst, src, w []float64, rows []int32) {
	n := len(dst)
	checkLen("src", len(src), n)
	if n == 0 {
		return
	}
	checkAdded(len(w), n, rows)
	addRows64(dst, src, w, n, rows)
}

// checkAdded panics unless rows are those of a matrix of size entries and n
// columns, or their complements.
func checkAdded(size, n int, rows []int32) {
	if size%n != 0 {
		panic(fmt.Sprintf("simd: len(w) = %d, want a multiple of %d", size, n))
	}
	last := int32(size/n) - 1
	for k, r := range rows {
		if r^(r>>31) > last {
			panic(fmt.Sprintf("simd: rows[%d] = %d, want %d to %d", k, r, ^last, last))
		}
	}
}

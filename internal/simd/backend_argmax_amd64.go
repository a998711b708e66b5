//go:build amd64 && !purego

package simd

// argMaxTerms bounds one call: 0.1 ns a term.
const argMaxTerms = 1 << 18

func argMax(idx []int32, w []float32, cols int) {
	if best == purego || cols > argMaxTerms {
		refArgMax(idx, w, cols)
		return
	}
	for len(idx) > 0 {
		r := min(len(idx), max(runTerms/cols, 1))
		argMaxRows(idx[:r], w, cols)
		idx, w = idx[r:], w[r*cols:]
	}
}

//go:noinline
func argMaxRows(idx []int32, w []float32, cols int) {
	if best == avx512 {
		argMaxRowsAVX512(&idx[0], &w[0], len(idx), cols)
	} else {
		argMaxRowsAVX2(&idx[0], &w[0], len(idx), cols)
	}
}

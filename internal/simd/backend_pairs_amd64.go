//go:build amd64 && !purego

package simd

// The functions of this file work on rows of two, eight rows at a time, and
// return how many rows they did. Their callers cut rows by perCall.

//go:noinline
func pairRows(p, w, maxes []float32, total []float64) int {
	rows := len(maxes) &^ 7
	if rows > 0 && best == avx512 {
		pairRowsAVX512(&p[0], &w[0], &maxes[0], &total[0], rows)
	} else if rows > 0 {
		pairRowsAVX2(&p[0], &w[0], &maxes[0], &total[0], rows)
	}
	return rows
}

//go:noinline
func scalePairs(p []float32, total []float64) int {
	rows := len(total) &^ 7
	if rows > 0 && best == avx512 {
		scalePairsAVX512(&p[0], &total[0], rows)
	} else if rows > 0 {
		scalePairsAVX2(&p[0], &total[0], rows)
	}
	return rows
}

//go:noinline
func pickPairs(idx []int32, p []float32, total, u []float64) int {
	rows := len(idx) &^ 7
	if rows > 0 && best == avx512 {
		pickPairsAVX512(&idx[0], &p[0], &total[0], &u[0], rows)
	} else if rows > 0 {
		pickPairsAVX2(&idx[0], &p[0], &total[0], &u[0], rows)
	}
	return rows
}

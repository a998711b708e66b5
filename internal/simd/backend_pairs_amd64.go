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
func pickPairs(idx []int32, p []float32, total, u []float64) int {
	rows := len(idx) &^ 7
	if rows > 0 && best == avx512 {
		pickPairsAVX512(&idx[0], &p[0], &total[0], &u[0], rows)
	} else if rows > 0 {
		pickPairsAVX2(&idx[0], &p[0], &total[0], &u[0], rows)
	}
	return rows
}

// softmaxPairs is softmax on rows of two, as many as fill whole registers. It returns how
// many entries it did, and up to where the kernels of all rows shall go on: over a register of rows that are
// not all of finite numbers, or over the last ones.
//
//go:noinline
func softmaxPairs(dst, w []float32) (done, next int) {
	turn := 32
	if best == avx2 {
		turn = 16
	}
	n := len(dst) / turn
	if n == 0 {
		return 0, len(dst)
	}
	left := 0
	if best == avx512 {
		left = softmaxPairsAVX512(&dst[0], &w[0], n)
	} else {
		left = softmaxPairsAVX2(&dst[0], &w[0], n)
	}
	done = (n - left) * turn
	return done, min(done+turn, len(dst))
}

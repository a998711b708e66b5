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

// softmaxPairs is softmax on rows of two, as many as fill whole registers; it returns how
// many entries it did. Rows that are not of finite numbers are left to the kernels of all rows.
func softmaxPairs(dst, w []float32) (done int) {
	turn := 32
	if best == avx2 {
		turn = 16
	}
	for len(dst)-done >= turn {
		n := min((len(dst)-done)/turn, runTerms/turn)
		left := softmaxPairsRun(dst[done:], w[done:], n)
		done += (n - left) * turn
		if left > 0 {
			softmaxRows(dst[done:done+turn], w[done:done+turn], 2)
			done += turn
		}
	}
	return done
}

//go:noinline
func softmaxPairsRun(dst, w []float32, turns int) (left int) {
	if best == avx512 {
		return softmaxPairsAVX512(&dst[0], &w[0], turns)
	}
	return softmaxPairsAVX2(&dst[0], &w[0], turns)
}

//go:build amd64 && !purego

package simd

func squares(dst, x, m, w []float64) {
	n := len(x)
	if best == purego || n > foldTerms {
		refSquares(dst, x, m, w)
		return
	}
	for step := foldTerms / n; len(dst) > 0; {
		rows := min(step, len(dst))
		squaresRun(dst[:rows], x, m, w)
		dst, m, w = dst[rows:], m[rows*n:], w[rows*n:]
	}
}

//go:noinline
func squaresRun(dst, x, m, w []float64) {
	if best == avx512 {
		squaresAVX512(&dst[0], &x[0], &m[0], &w[0], len(dst), len(x))
	} else {
		squaresAVX2(&dst[0], &x[0], &m[0], &w[0], len(dst), len(x))
	}
}

func attract(dst, x, m, w []float64, p float64) {
	if best == purego {
		refAttract(dst, x, m, w, p)
		return
	}
	for len(x) > 0 {
		n := min(len(x), foldTerms)
		attractRun(dst[:n], x[:n], m, w, p)
		dst, x, m, w = dst[n:], x[n:], m[n:], w[n:]
	}
}

//go:noinline
func attractRun(dst, x, m, w []float64, p float64) {
	if best == avx512 {
		attractAVX512(&dst[0], &x[0], &m[0], &w[0], p, len(x))
	} else {
		attractAVX2(&dst[0], &x[0], &m[0], &w[0], p, len(x))
	}
}

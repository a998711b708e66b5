//go:build amd64 && !purego

package simd

func inner(w []float64, x []float32) float64 {
	n := len(x) &^ (lanes - 1)
	if best == purego || n == 0 || n > foldTerms {
		return refInner(w, x)
	}
	return innerRun(w, x[:n]) + tailInner(w[n:], x[n:])
}

//go:noinline
func innerRun(w []float64, x []float32) float64 {
	if best == avx512 {
		return innerAVX512(&w[0], &x[0], len(x))
	}
	return innerAVX2(&w[0], &x[0], len(x))
}

func gap(x, y []float32, s float64) float64 {
	n := len(x) &^ (lanes - 1)
	if best == purego || n == 0 || n > foldTerms {
		return refGap(x, y, s)
	}
	return gapRun(x[:n], y, s) + tailGap(x[n:], y[n:], s)
}

//go:noinline
func gapRun(x, y []float32, s float64) float64 {
	if best == avx512 {
		return gapAVX512(&x[0], &y[0], s, len(x))
	}
	return gapAVX2(&x[0], &y[0], s, len(x))
}

func addWide(dst []float64, a float64, x []float32) {
	for best != purego && len(x) >= lanes {
		n := min(len(x)&^(lanes-1), foldTerms)
		addWideRun(dst, a, x[:n])
		dst, x = dst[n:], x[n:]
	}
	refAddWide(dst, a, x)
}

//go:noinline
func addWideRun(dst []float64, a float64, x []float32) {
	if best == avx512 {
		addWideAVX512(&dst[0], a, &x[0], len(x))
	} else {
		addWideAVX2(&dst[0], a, &x[0], len(x))
	}
}

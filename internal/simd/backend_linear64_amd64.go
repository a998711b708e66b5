//go:build amd64 && !purego

package simd

func dot64(x, y []float64) float64 {
	n := len(x) &^ (lanes - 1)
	if best == purego || n == 0 || n > foldTerms {
		return refDot64(x, y)
	}
	return dot64Run(x[:n], y) + tail64(x[n:], y[n:])
}

//go:noinline
func dot64Run(x, y []float64) float64 {
	if best == avx512 {
		return dot64AVX512(&x[0], &y[0], len(x))
	}
	return dot64AVX2(&x[0], &y[0], len(x))
}

func axpy64(a float64, x, y []float64) {
	for best != purego && len(x) >= lanes {
		n := min(len(x)&^(lanes-1), foldTerms)
		axpy64Run(a, x[:n], y)
		x, y = x[n:], y[n:]
	}
	refAxpy64(a, x, y)
}

//go:noinline
func axpy64Run(a float64, x, y []float64) {
	if best == avx512 {
		axpy64AVX512(a, &x[0], &y[0], len(x))
	} else {
		axpy64AVX2(a, &x[0], &y[0], len(x))
	}
}

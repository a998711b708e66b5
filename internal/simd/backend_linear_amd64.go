//go:build amd64 && !purego

package simd

func dot(x, y []float32) float32 {
	if best == purego {
		return refDot(x, y)
	}
	var lane [lanes]float32
	for len(x) > 0 {
		n := min(len(x), runTerms)
		dotRun(&lane, x[:n], y)
		x, y = x[n:], y[n:]
	}
	return halve32(&lane)
}

//go:noinline
func dotRun(lane *[lanes]float32, x, y []float32) {
	if best == avx512 {
		dotAVX512(lane, &x[0], &y[0], len(x))
	} else {
		dotAVX2(lane, &x[0], &y[0], len(x))
	}
}

func sum(x []float32) float64 {
	if best == purego {
		return refSum(x)
	}
	var lane [lanes]float64
	for len(x) > 0 {
		n := min(len(x), runTerms)
		sumRun(&lane, x[:n])
		x = x[n:]
	}
	return halve(&lane)
}

func weightsMarked(p, w []float32, m float32, marks [2][]uint16) (sums [2]float64) {
	if best == purego {
		return refWeightsMarked(p, w, m, marks)
	}
	var lane [2 * lanes]float64
	for len(w) >= lanes {
		n := min(len(w)/lanes, scratchTerms/lanes)
		weightsMarkedRun(&lane, p[:n*lanes], w[:n*lanes], m, marks[0][:n], marks[1][:n])
		p, w, marks[0], marks[1] = p[n*lanes:], w[n*lanes:], marks[0][n:], marks[1][n:]
	}
	if len(w) > 0 {
		weightBlock(p, w, m, 0)
	}
	for i, bits := range marks {
		own := (*[lanes]float64)(lane[i*lanes:])
		if len(w) > 0 {
			addMarked(own, p, bits[0])
		}
		sums[i] = halve(own)
	}
	return sums
}

//go:noinline
func weightsMarkedRun(lane *[2 * lanes]float64, p, w []float32, m float32, a, b []uint16) {
	if best == avx512 {
		weightsMarkedAVX512(lane, &p[0], &w[0], &a[0], &b[0], len(a), m)
	} else {
		weightsMarkedAVX2(lane, &p[0], &w[0], &a[0], &b[0], len(a), m)
	}
}

//go:noinline
func sumRun(lane *[lanes]float64, x []float32) {
	if best == avx512 {
		sumAVX512(lane, &x[0], len(x))
	} else {
		sumAVX2(lane, &x[0], len(x))
	}
}

func axpy(alpha float32, x, y []float32) {
	if best == purego {
		refAxpy(alpha, x, y)
		return
	}
	for len(x) > 0 {
		n := min(len(x), runTerms)
		axpyRun(alpha, x[:n], y)
		x, y = x[n:], y[n:]
	}
}

//go:noinline
func axpyRun(alpha float32, x, y []float32) {
	if best == avx512 {
		axpyAVX512(alpha, &x[0], &y[0], len(x))
	} else {
		axpyAVX2(alpha, &x[0], &y[0], len(x))
	}
}

func scale(alpha float32, x []float32) {
	if best == purego {
		refScale(alpha, x)
		return
	}
	for len(x) > 0 {
		n := min(len(x), runTerms)
		scaleRun(alpha, x[:n])
		x = x[n:]
	}
}

//go:noinline
func scaleRun(alpha float32, x []float32) {
	if best == avx512 {
		scaleAVX512(alpha, &x[0], len(x))
	} else {
		scaleAVX2(alpha, &x[0], len(x))
	}
}

//go:build amd64 && !purego

package simd

// weightRows is weights on rows that fit one call; it stores their maxima too.
//
//go:noinline
func weightRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	if cols == 2 && floor == 0 && best != purego {
		n := pairRows(p, w, maxes, total)
		if p, w, maxes, total = p[2*n:], w[2*n:], maxes[n:], total[n:]; len(maxes) == 0 {
			return
		}
	}
	switch {
	case best == purego:
		refWeightRows(p, w, maxes, total, cols, floor)
	case best == avx512 && floor > 0:
		flooredRowsAVX512(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, floor)
	case best == avx512:
		weightsRowsAVX512(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, 0)
	case floor > 0:
		flooredRowsAVX2(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, floor)
	default:
		weightsRowsAVX2(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, 0)
	}
}

//go:noinline
func weightSegment(p, w []float32, m, floor float32, total *float64) {
	switch {
	case best == purego:
		refWeightSegment(p, w, m, floor, total)
	case best == avx512 && floor > 0:
		flooredSegmentAVX512(&p[0], &w[0], len(w), m, floor, total)
	case best == avx512:
		weightsSegmentAVX512(&p[0], &w[0], len(w), m, 0, total)
	case floor > 0:
		flooredSegmentAVX2(&p[0], &w[0], len(w), m, floor, total)
	default:
		weightsSegmentAVX2(&p[0], &w[0], len(w), m, 0, total)
	}
}

//go:noinline
func maxSegment(w []float32) float32 {
	if best == avx512 {
		return maxSegmentAVX512(&w[0], len(w))
	}
	return maxSegmentAVX2(&w[0], len(w))
}

//go:noinline
func shiftRow(dst, w []float32, m, l float32) {
	if best == avx512 {
		shiftRowAVX512(&dst[0], &w[0], m, l, len(dst))
	} else {
		shiftRowAVX2(&dst[0], &w[0], m, l, len(dst))
	}
}

//go:noinline
func scaleRows(p []float32, total []float64, cols int) {
	if cols == 2 {
		n := scalePairs(p, total)
		if p, total = p[2*n:], total[n:]; len(p) == 0 {
			return
		}
	}
	if best == avx512 {
		scaleRowsAVX512(&p[0], &total[0], len(total), cols)
	} else {
		scaleRowsAVX2(&p[0], &total[0], len(total), cols)
	}
}

//go:noinline
func pickRow(p []float32, target, before float64) int {
	if best == avx512 {
		return pickRowAVX512(&p[0], len(p), target, before)
	}
	return pickRowAVX2(&p[0], len(p), target, before)
}

//go:noinline
func pickRowsRun(idx []int32, p []float32, total, u []float64, cols int) {
	n := 0
	if cols == 2 {
		n = pickPairs(idx, p, total, u)
	}
	if n == len(idx) {
		// All were pairs.
	} else if best == avx512 {
		pickRowsAVX512(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	} else {
		pickRowsAVX2(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	}
}

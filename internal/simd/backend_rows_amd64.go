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
	case best == avx512 && cols < blockTerms && len(maxes) > 1:
		shortRows(p[:len(maxes)*cols], w, maxes, total, cols, floor)
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

// shortRows is weightRows on rows of less than a block, step by step: exponentials, at
// least, fill whole registers and do not wait for each other.
//
//go:noinline
func shortRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	if floor > 0 {
		shiftRowsFlooredAVX512(&p[0], &w[0], &maxes[0], len(maxes), cols)
		expsFlooredAVX512(&p[0], len(p), floor)
	} else {
		shiftRowsAVX512(&p[0], &w[0], &maxes[0], len(maxes), cols)
		expsAVX512(&p[0], len(p), 0)
	}
	totalRowsAVX512(&p[0], &total[0], len(maxes), cols)
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
func scaleRows(dst, p []float32, total []float64, cols int) {
	if best == avx512 {
		scaleRowsAVX512(&dst[0], &p[0], &total[0], len(total), cols)
	} else {
		scaleRowsAVX2(&dst[0], &p[0], &total[0], len(total), cols)
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
	} else if eights := len(idx) &^ 7; eights > 0 && best == avx512 {
		if n = eights; cols < blockTerms {
			pickShortAVX512(&idx[0], &p[0], &total[0], &u[0], n, cols)
		} else {
			pickLongAVX512(&idx[0], &p[0], &total[0], &u[0], n, cols)
		}
	}
	if n == len(idx) {
		return
	}
	if best == avx512 {
		pickRowsAVX512(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	} else {
		pickRowsAVX2(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	}
}

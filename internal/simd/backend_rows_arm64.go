//go:build arm64 && !purego

package simd

// weightRows is weights on rows that fit one call; it stores their maxima too.
//
//go:noinline
func weightRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	switch {
	case best == purego:
		refWeightRows(p, w, maxes, total, cols, floor)
	case floor > 0:
		flooredRowsNEON(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, floor)
	default:
		weightsRowsNEON(&p[0], &w[0], &maxes[0], &total[0], len(maxes), cols, 0)
	}
}

//go:noinline
func weightSegment(p, w []float32, m, floor float32, total *float64) {
	switch {
	case best == purego || len(w) == 0:
		refWeightSegment(p, w, m, floor, total)
	case floor > 0:
		flooredSegmentNEON(&p[0], &w[0], len(w), m, floor, total)
	default:
		weightsSegmentNEON(&p[0], &w[0], len(w), m, 0, total)
	}
}

//go:noinline
func maxSegment(w []float32) float32 { return maxSegmentNEON(&w[0], len(w)) }

//go:noinline
func shiftRow(dst, w []float32, m, l float32) {
	shiftRowNEON(&dst[0], &w[0], m, l, len(dst))
}

//go:noinline
func scaleRows(dst, p []float32, total []float64, cols int) {
	scaleRowsNEON(&dst[0], &p[0], &total[0], len(total), cols)
}

//go:noinline
func pickRow(p []float32, target, before float64) int {
	return pickRowNEON(&p[0], len(p), target, before)
}

//go:noinline
func pickRowsRun(idx []int32, p []float32, total, u []float64, cols int) {
	pickRowsNEON(&idx[0], &p[0], &total[0], &u[0], len(idx), cols)
}

// softmaxPairs leaves rows of two to the kernels of all rows.
func softmaxPairs(dst, _ []float32) (done, next int) { return 0, len(dst) }

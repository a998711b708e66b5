package simd

// LogSumExp stores dst[r] = log Σ_i e^(w[r,i]) for rows of cols log-weights, as
// the maximum plus the logarithm of the float64 total of [Weights]: −Inf for a
// row of −Inf, NaN for a row with NaN or +Inf. The error is that of the
// float32 weights, below 2e−7 beside the rounding of w − max. It panics unless
// cols ≥ 1 and len(w) = len(dst)·cols.
func LogSumExp(dst []float64, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w)/cols)
	logSumExp(dst, w, cols)
}

// Softmax stores dst[i] = e^(w[i]) / Σ_row e^w for rows of cols log-weights: the
// float32 weights of [Weights] (floor 0) times the rounded reciprocal of their
// total, with an error below 4 ulp beside the rounding of w − max.
// Probabilities below 2⁻¹²⁵ are exactly 0. A row without weight or
// with NaN or +Inf becomes NaN.
//
// dst may be w. It panics unless cols ≥ 1, len(w) is a multiple of cols and
// len(dst) = len(w).
func Softmax(dst, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w))
	softmax(dst, w, cols)
}

// LogSoftmax stores dst[i] = (w[i] − m) − log Σ_row e^(w−m), m the maximum of
// the row, in float32 steps: −Inf where w[i] is −Inf; a row without weight or
// with NaN or +Inf becomes NaN. The logarithm is that of the total of
// [Weights], rounded to float32.
//
// dst may be w. It panics unless cols ≥ 1, len(w) is a multiple of cols and
// len(dst) = len(w).
func LogSoftmax(dst, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w))
	logSoftmax(dst, w, cols)
}

// ArgMax stores in idx[r] the smallest index of the largest entry of row r; −1
// where the row has a NaN or nothing above −Inf. It panics unless cols ≥ 1 and
// len(w) = len(idx)·cols.
func ArgMax(idx []int32, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("idx", len(idx), len(w)/cols)
	argMax(idx, w, cols)
}

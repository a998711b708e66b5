package simd

import "math"

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

func refLogSumExp(dst []float64, w []float32, cols int) {
	for r := range dst {
		row := w[r*cols : (r+1)*cols]
		m := rowMax(row)
		dst[r] = float64(m) + Log(weightTotal(row, m))
	}
}

// weightTotal returns the total of the weights e^(w−m).
func weightTotal(w []float32, m float32) float64 {
	var p [blockTerms]float32
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		total += blockSum(p[:len(block)])
	}
	return total
}

func refSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		p := dst[i : i+cols]
		total := weightRow(p, w[i:i+cols], 0)
		least, scale := softmaxScale(total)
		for j, v := range p {
			if v < least {
				p[j] = 0
			} else {
				p[j] = v * scale
			}
		}
	}
}

// softmaxScale returns the factor that normalises weights and the smallest
// weight that it keeps: its product is normal.
func softmaxScale(total float64) (least, scale float32) {
	return float32(total * 0x1p-125), float32(1 / total)
}

func refLogSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		row := w[i : i+cols]
		m := rowMax(row)
		l := float32(Log(weightTotal(row, m)))
		for j, v := range row {
			dst[i+j] = (v - m) - l
		}
	}
}

func refArgMax(idx []int32, w []float32, cols int) {
	for r := range idx {
		best, at := float32(math.Inf(-1)), int32(-1)
		for j, v := range w[r*cols : (r+1)*cols] {
			if v != v {
				at = -1
				break
			}
			if v > best {
				best, at = v, int32(j)
			}
		}
		idx[r] = at
	}
}

// refWeightSegment is refWeights on a segment of a row, given its maximum; total
// is carried on.
func refWeightSegment(p, w []float32, m, floor float32, total *float64) {
	for i := 0; i < len(w); i += blockTerms {
		end := min(i+blockTerms, len(w))
		weightBlock(p[i:end], w[i:end], m, floor)
		*total += blockSum(p[i:end])
	}
}

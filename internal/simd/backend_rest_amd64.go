//go:build amd64 && !purego

package simd

func weights(p []float32, total []float64, w []float32, cols int, floor float32) {
	refWeights(p, total, w, cols, floor)
}
func pick(p []float32, target float64) int { return refPick(p, target) }
func categorical(idx []int32, w []float32, cols int, u []float64) {
	refCategorical(idx, w, cols, u)
}
func logSumExp(dst []float64, w []float32, cols int) { refLogSumExp(dst, w, cols) }
func softmax(dst, w []float32, cols int)             { refSoftmax(dst, w, cols) }
func logSoftmax(dst, w []float32, cols int)          { refLogSoftmax(dst, w, cols) }
func argMax(idx []int32, w []float32, cols int)      { refArgMax(idx, w, cols) }

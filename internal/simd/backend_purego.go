//go:build (!amd64 && !arm64) || purego

package simd

// The kernels that amd64 and arm64 have in assembly are the references elsewhere.

func philox(dst []uint32, key, stream, group uint64) { refPhilox(dst, key, stream, group) }
func unit32(dst []float32, bits []uint32)            { refUnit32(dst, bits) }
func unit64(dst []float64, bits []uint32)            { refUnit64(dst, bits) }

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
func longMax(w []float32) float32                    { return rowMax(w) }
func peak(w []float32) float32                       { return rowMax(w) }
func weightsFrom(p, w []float32, m float32) float64  { return weightRowFrom(p, w, m, 0) }
func weightSegment(p, w []float32, m, floor float32, total *float64) {
	refWeightSegment(p, w, m, floor, total)
}
func weightRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	refWeightRows(p, w, maxes, total, cols, floor)
}

func flipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	refFlipThresholds(t, h, x, beta, c)
}
func flipBlock(y, x, t []int32, bits []uint32) (int, float64) { return refFlip(y, x, t, bits) }
func flipLogProbBlock(x, y, t []int32) float64                { return refFlipLogProb(x, y, t) }
func sigmoidTo(dst, src []float32)                            { refSigmoidTo(dst, src) }

func gemm(c, a, b []float32, m, n, k int)  { refGemm(c, a, b, m, n, k) }
func gemmT(c, a, b []float32, m, n, k int) { refGemmT(c, a, b, m, n, k) }

func packPanels(_ []float32, _, _ int) (panels []float32, width int) { return nil, 0 }
func gemmPacked(c, a, b, _ []float32, m, n, k, _ int)                { refGemm(c, a, b, m, n, k) }

func fixedGemm(c []float32, a []int16, f *Fixed, m int) { refFixedGemm(c, a, f, m) }
func logisticWords(dst []int16, src []float32)          { refLogisticWords(dst, src) }

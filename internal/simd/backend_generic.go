package simd

// The kernels of this backend are the references.

func philox(dst []uint32, key, stream, group uint64) { refPhilox(dst, key, stream, group) }
func unit32(dst []float32, bits []uint32)            { refUnit32(dst, bits) }
func unit64(dst []float64, bits []uint32)            { refUnit64(dst, bits) }

func flipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	refFlipThresholds(t, h, x, beta, c)
}
func flip(y, x, t []int32, bits []uint32) (int, float64) { return refFlip(y, x, t, bits) }
func flipLogProb(x, y, t []int32) float64                { return refFlipLogProb(x, y, t) }

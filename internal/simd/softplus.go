package simd

// SoftplusSum returns Σ log(1 + e^x_i), the sum over the hidden units of a
// restricted Boltzmann machine. A term is max(x, 0) + log(1 + e^−|x|); the
// logarithms of 512 terms are taken at once, of the product of 16 lanes, and
// everything after x is float64: the error is below 1e−15·(n + Σ max(x, 0)).
func SoftplusSum(x []float32) float64 { return softplusSum(x) }

// ExpGather stores dst[i] = e^(w[idx[i]] − shift) in float64, 0 below e^−708. The
// relative error is below 3e−13 (TestExpGather):
// less than what a float32 weight is rounded by, at half the cost of [Exp].
// Indices must be valid; nothing checks them. It panics unless
// len(idx) = len(dst).
func ExpGather(dst []float64, w []float32, idx []int32, shift float64) {
	checkLen("idx", len(idx), len(dst))
	expGather(dst, w, idx, shift)
}

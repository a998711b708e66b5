package simd

// GELU stores dst[i] = x·σ(u(x)), x = src[i], the tanh form of the Gaussian error linear
// unit (Hendrycks and Gimpel 2016): u = 2·√(2/π)·(x + 0.044715·x³), every operation
// rounded to float32, σ as by [SigmoidTo]. dst may be src. It panics unless
// len(dst) = len(src).
func GELU(dst, src []float32) {
	checkLen("dst", len(dst), len(src))
	gelu(dst, src)
}

// GELUSlope multiplies d[i] by the derivative of [GELU] at x[i], σ + x·u′·σ·(1−σ). It
// panics unless len(d) = len(x).
func GELUSlope(d, x []float32) {
	checkLen("d", len(d), len(x))
	geluSlopes(d, x)
}

package simd

// Dot returns Σ x_i·y_i in float32: products rounded, 16 lanes added by halving.
// It panics unless len(x) = len(y).
func Dot(x, y []float32) float32 {
	checkLen("x", len(x), len(y))
	return dot(x, y)
}

// Axpy adds alpha·x to y, rounding product and sum. y may be x. It panics
// unless len(x) = len(y).
func Axpy(alpha float32, x, y []float32) {
	checkLen("x", len(x), len(y))
	axpy(alpha, x, y)
}

// Scale multiplies x by alpha.
func Scale(alpha float32, x []float32) { scale(alpha, x) }

// Sum returns Σ x_i in float64, in 16 lanes added by halving.
func Sum(x []float32) float64 { return sum(x) }

// WeightsMarked stores p[i] = e^(w[i]−m), for m the [Peak] of w, and returns for both
// marks the [Sum] of p over the entries that it marks, 0 standing for the others: entry i
// by bit i%16 of word i/16. Bits beyond the entries do not count. All is done in one
// pass. It panics unless len(p) = len(w) and the marks have ⌈len(w)/16⌉ words.
func WeightsMarked(p, w []float32, m float32, marks [2][]uint16) (sums [2]float64) {
	checkLen("p", len(p), len(w))
	for _, bits := range marks {
		checkLen("bits", len(bits), (len(w)+lanes-1)/lanes)
	}
	return weightsMarked(p, w, m, marks)
}

// SigmoidTo stores dst[i] = 1/(1+e^−src[i]) with an error below 3.5 ulp; it is
// exactly 0 for src[i] < −87.3. dst may be src. It panics unless len(dst) =
// len(src).
func SigmoidTo(dst, src []float32) {
	checkLen("dst", len(dst), len(src))
	sigmoidTo(dst, src)
}

// Slope replaces every σ in s, as of [SigmoidTo], by its derivative σ − σ², the square
// rounded.
func Slope(s []float32) { pull(s, s, s, 0, -1) }

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

// SigmoidTo stores dst[i] = 1/(1+e^−src[i]) with an error below 3.5 ulp; it is
// exactly 0 for src[i] < −87.3. dst may be src. It panics unless len(dst) =
// len(src).
func SigmoidTo(dst, src []float32) {
	checkLen("dst", len(dst), len(src))
	sigmoidTo(dst, src)
}

func refDot(x, y []float32) float32 {
	var lane [lanes]float32
	for len(x) >= lanes {
		for j := range lane {
			lane[j] += float32(x[j] * y[j])
		}
		x, y = x[lanes:], y[lanes:]
	}
	for j, v := range x {
		lane[j] += float32(v * y[j])
	}
	return halve32(&lane)
}

// halve32 is halve in float32.
func halve32(lane *[lanes]float32) float32 {
	for j := range 8 {
		lane[j] += lane[j+8]
	}
	for j := range 4 {
		lane[j] += lane[j+4]
	}
	return (lane[0] + lane[2]) + (lane[1] + lane[3])
}

func refAxpy(alpha float32, x, y []float32) {
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

func refScale(alpha float32, x []float32) {
	for i := range x {
		x[i] *= alpha
	}
}

func refSum(x []float32) float64 {
	var lane [lanes]float64
	for len(x) >= lanes {
		for j := range lane {
			lane[j] += float64(x[j])
		}
		x = x[lanes:]
	}
	for j, v := range x {
		lane[j] += float64(v)
	}
	return halve(&lane)
}

func refSigmoidTo(dst, src []float32) {
	for i, v := range src {
		dst[i] = sigmoid32(v)
	}
}

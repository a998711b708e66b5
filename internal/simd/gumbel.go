package simd

import (
	"fmt"
	"math"
)

// Gumbel stores in dst[i] the standard Gumbel variate
//
//	−log(−log(1−v)),  v = (bits[i]+½)/2³²,
//
// with an error below 2e−6. Both tails reach down to a probability of 1.2e−10 (2⁻³³). Gumbel panics
// unless len(bits) = len(dst).
func Gumbel(dst []float32, bits []uint32) {
	checkLen("bits", len(bits), len(dst))
	gumbel(dst, bits)
}

// GumbelSoftmax stores the relaxed draw y = softmax((w + noise)/temperature) for each row of cols
// log-weights (Jang, Gu and Poole 2017; Maddison, Mnih and Teh 2017). It computes in float32 with
// [Softmax]. The noise comes from [Gumbel]. The derivatives follow from y; see [SoftmaxPull]. The
// slice y may be w or noise. GumbelSoftmax panics unless cols ≥ 1, len(w) is a multiple of cols,
// len(y) = len(noise) = len(w) and temperature > 0.
func GumbelSoftmax(y, w, noise []float32, cols int, temperature float32) {
	checkRows(w, cols)
	checkLen("y", len(y), len(w))
	checkLen("noise", len(noise), len(w))
	if !(temperature > 0) {
		panic(fmt.Sprintf("simd: temperature = %v, want > 0", temperature))
	}
	perturb(y, w, noise, 1/temperature)
	softmax(y, y, cols)
}

// SoftmaxPull adds to dst the pullback (vector–Jacobian product) of [Softmax] for each row of cols
// entries,
//
//	dst_i += scale·y_i·(d_i − ⟨y, d⟩),
//
// where y is the result of Softmax, d the gradient with respect to y, and ⟨y, d⟩ their [Dot] in the
// row. For [GumbelSoftmax] at temperature θ, pass scale = 1/θ. SoftmaxPull panics unless cols ≥ 1,
// len(y) is a multiple of cols and len(dst) = len(d) = len(y).
func SoftmaxPull(dst, y, d []float32, cols int, scale float32) {
	checkRows(y, cols)
	checkLen("dst", len(dst), len(y))
	checkLen("d", len(d), len(y))
	for i := 0; i < len(y); i += cols {
		row, grad := y[i:i+cols], d[i:i+cols]
		pull(dst[i:i+cols], row, grad, Dot(row, grad), scale)
	}
}

// Constants of the float32 logarithm. The polynomial is a minimax fit printed by _gen/coef;
// TestExponential32 bounds the error.
const (
	logC0 = 0x1.55557ap-01
	logC1 = 0x1.995e78p-02
	logC2 = 0x1.31ea76p-02

	ln2   = 0x1.62e43p-1
	rootH = 0x3f3504f3 // bits of √½

	// smallBits is (1−√½)·2³². For smaller random integers, log(1−v) is computed from −v without
	// range reduction.
	smallBits = 0x4afb0ccd
)

// exponential32 returns the exponential variate −log(1−v), v = (b+½)/2³², with an error below 4
// ulp.
func exponential32(b uint32) float32 {
	high := int32(b) >> 31 // −1 if v ≥ ½
	a := float32(int32(b)^high) + 0.5
	a = float32(a * 0x1p-32) // v or 1−v, whichever is smaller
	y := a
	if high == 0 {
		y = 1 - a
	}
	k, f := logReduce32(y)
	if b < smallBits {
		k, f = 0, -a
	}
	return -logSum32(k, f)
}

// log32 returns log x for a positive normal x.
func log32(x float32) float32 { return logSum32(logReduce32(x)) }

// logReduce32 returns k and f with x = 2^k·(1+f) and 1+f in [√½, √2).
func logReduce32(x float32) (k, f float32) {
	b := math.Float32bits(x)
	e := int32(b-rootH) >> 23
	return float32(e), math.Float32frombits(b-uint32(e)<<23) - 1
}

// logSum32 returns k·ln 2 + log(1+f).
func logSum32(k, f float32) float32 {
	s := f / (2 + f)
	z := float32(s * s)
	q := float32(z*logC2) + logC1
	q = float32(q*z) + logC0
	q = float32(q*z) + 2
	return float32(k*ln2) + float32(s*q)
}

func refGumbel(dst []float32, bits []uint32) {
	for i, b := range bits {
		dst[i] = -log32(exponential32(b))
	}
}

func refPerturb(y, w, noise []float32, scale float32) {
	for i, v := range w {
		y[i] = (v + noise[i]) * scale
	}
}

func refPull(dst, y, d []float32, mean, scale float32) {
	for i, v := range y {
		dst[i] += float32(float32(v*(d[i]-mean)) * scale)
	}
}

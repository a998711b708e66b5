package simd

import "fmt"

// Gumbel stores standard Gumbel noise −log(−log(1−v)), v = (bits[i]+½)/2³²: the
// larger tail has 33 bits, down to 1.2e−10, the smaller as many. The error is
// below 2e−6. It panics unless len(bits) = len(dst).
func Gumbel(dst []float32, bits []uint32) {
	checkLen("bits", len(bits), len(dst))
	gumbel(dst, bits)
}

// GumbelSoftmax stores the relaxed draw y = softmax((w + noise)/temperature) of
// each row (Jang, Gu and Poole 2017; Maddison, Mnih and Teh 2017), in float32
// as [Softmax] computes it. Keep the noise, from [Gumbel], to differentiate: see
// [SoftmaxPull]. y may be w or noise. It panics unless cols ≥ 1, len(w) is a
// multiple of cols, len(y) = len(noise) = len(w) and temperature > 0.
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

// SoftmaxPull adds to dst the pullback of [Softmax], or with scale = 1/θ of
// [GumbelSoftmax], of a gradient d with respect to its result y:
//
//	dst_i += scale·y_i·(d_i − ⟨y, d⟩),  ⟨y, d⟩ the [Dot] of the row.
//
// It panics unless cols ≥ 1, len(y) is a multiple of cols and len(dst) =
// len(d) = len(y).
func SoftmaxPull(dst, y, d []float32, cols int, scale float32) {
	checkRows(y, cols)
	checkLen("dst", len(dst), len(y))
	checkLen("d", len(d), len(y))
	for i := 0; i < len(y); i += cols {
		row, grad := y[i:i+cols], d[i:i+cols]
		pull(dst[i:i+cols], row, grad, dot(row, grad), scale)
	}
}

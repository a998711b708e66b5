package simd

import (
	"fmt"
)

// Gumbel stores standard Gumbel noise −log(−log(1−v)), v = (bits[i]+½)/2³²: the
// larger tail has 33 bits, down to 1.2e−10, the smaller as many. The error is
// below 2e−6. It panics unless len(bits) = len(dst).
func Gumbel(dst []float32, bits []uint32) {
	checkLen("bits", len(bits), len(dst))
	gumbel(dst, bits)
}

// GumbelMax draws one index per row from rows of log-weights by perturbation,
// as the arg max of w + Gumbel noise (Gumbel 1954) in the equivalent form of an
// exponential race: the largest p_i/E_i, p the [Weights] of the row and
// E_i = −log(1−v_i) from bits. An index of weight 0 is never returned; −1 where
// the row has no weight or a NaN. [Categorical] needs one uniform number a row
// instead of one a weight, and is exact. It panics unless cols ≥ 1,
// len(w) = len(idx)·cols and len(bits) = len(w).
func GumbelMax(idx []int32, w []float32, cols int, bits []uint32) {
	checkRows(w, cols)
	checkLen("idx", len(idx), len(w)/cols)
	checkLen("bits", len(bits), len(w))
	gumbelMax(idx, w, cols, bits)
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

func gumbelMax(idx []int32, w []float32, cols int, bits []uint32) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(idx) > 0 {
		r := perCall(len(idx), cols)
		n := r * cols
		if cols > scratchTerms {
			idx[0] = longRace(&s.p, w[:n], bits[:n])
		} else {
			weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
			race(s.p[:n], bits[:n])
			argMax(idx[:r], s.p[:n], cols)
			for i, z := range s.z[:r] {
				if !(z > 0) {
					idx[i] = -1
				}
			}
		}
		idx, w, bits = idx[r:], w[n:], bits[n:]
	}
}

// longRace is GumbelMax on one row longer than the scratch p.
func longRace(p *[scratchTerms]float32, w []float32, bits []uint32) int32 {
	winner, most, total := int32(-1), float32(0), 0.0
	m := longMax(w)
	for i := 0; i < len(w); i += len(p) {
		n := min(len(p), len(w)-i)
		weightSegment(p[:n], w[i:i+n], m, 0, &total)
		race(p[:n], bits[i:i+n])
		var at [1]int32
		argMax(at[:], p[:n], n)
		if l := at[0]; l >= 0 && p[l] > most {
			most, winner = p[l], int32(i)+l
		}
	}
	if !(total > 0) {
		return -1
	}
	return winner
}

package simd

import "fmt"

// JumpThresholds computes, as integers over 2³¹, the probabilities that a jump process on
// two states that starts at x_i is at the other after a time tau: with fields h as
// [FlipThresholds] has them, t = e^(−Δ_i) and ν = σ(−Δ_i),
//
//	q_i = ν·(1 − exp(−tau·g(t)/ν)),  t_i = min(max(⌊2³¹·q_i⌋, 1), 2³¹−2⁷)
//
// in float32, q right to 2·10⁻⁶ of it; t_i = 0 where Δ_i = +Inf and −1 where it is NaN.
// It panics unless len(t) = len(x) = len(h) and rate is one of those above.
func JumpThresholds(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	checkLen("t", len(t), len(h))
	checkLen("x", len(x), len(h))
	if rate < SqrtRate || rate > MaxRate {
		panic(fmt.Sprintf("simd: rate = %d, want 0 … 3", rate))
	}
	jumpThresholds(t, h, x, tau, rate)
}

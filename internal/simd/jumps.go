package simd

import (
	"fmt"
	"math"
)

// JumpRate selects the rate g(t) at which a jump process goes to another state. Here t is the
// probability of the new state divided by the probability of the old state. See [JumpThresholds].
type JumpRate int

const (
	SqrtRate   JumpRate = iota // g(t) = √t
	BarkerRate                 // g(t) = t/(1+t)
	MinRate                    // g(t) = min(1, t)
	MaxRate                    // g(t) = max(1, t)
)

// Gone returns 1 − exp(−r). This is the probability that a Poisson process with r ≥ 0 expected
// jumps makes at least one jump. The argument e must be exp(−r). The relative error is 10⁻⁶.
func Gone(r, e float32) float32 {
	if !(r < shortJump) {
		return 1 - e
	}
	const c2, c3, c4, c5, c6 = 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720
	s := float32(r * (c5 - float32(r*c6)))
	s = float32(r * (c4 - s))
	s = float32(r * (c3 - s))
	s = float32(r * (c2 - s))
	return float32(r * (1 - s))
}

// shortJump is the largest r for which six terms of the series of 1 − e^(−r) suffice in float32:
// r⁶/5040 < 2⁻²⁴.
const shortJump = 0.25

// JumpThresholds computes integers t_i such that t_i/2³¹ is a probability q_i of a jump process on
// the states 0 and 1. The process starts at x_i, and q_i is the probability that it is in the other
// state after the time tau:
//
//	q_i = ν·(1 − exp(−tau·g(e^(−Δ_i))/ν)),  t_i = min(max(⌊2³¹·q_i⌋, 1), 2³¹−2⁷).
//
// Here g is the function that rate selects (see [JumpRate]), Δ_i = h_i·(1−2x_i) and ν = 1/(1 +
// e^Δ_i). In float32, q has a relative error of 2·10⁻⁶. The integer t_i is 0 if Δ_i = +Inf and −1
// if Δ_i is NaN. JumpThresholds panics unless len(t) = len(x) = len(h) and rate is a valid
// [JumpRate].
func JumpThresholds(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	checkLen("t", len(t), len(h))
	checkLen("x", len(x), len(h))
	if rate < SqrtRate || rate > MaxRate {
		panic(fmt.Sprintf("simd: rate = %d, want 0 … 3", rate))
	}
	jumpThresholds(t, h, x, tau, rate)
}

// refJumpThresholds is the definition of JumpThresholds. With e = e^(−|Δ|), the larger of ν and 1−ν
// is 1/(1+e) and the smaller is e/(1+e). For the four rates, g/ν is
//
//	(1+e)/√e, 1, 1+e and (1+e)/e.
func refJumpThresholds(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	for i := range t {
		delta := math.Float32frombits(math.Float32bits(h[i]) ^ uint32(x[i])<<31)
		switch {
		case delta != delta:
			t[i] = -1
			continue
		case delta > math.MaxFloat32:
			t[i] = 0
			continue
		}
		e := exp32(math.Float32frombits(math.Float32bits(delta) | 1<<31))
		d, r := 1+e, float32(1)
		switch rate {
		case SqrtRate:
			r = d / float32(math.Sqrt(float64(e)))
		case MinRate:
			r = d
		case MaxRate:
			r = d / e
		}
		r *= tau
		nu := e
		if delta < 0 {
			nu = 1
		}
		nu /= d
		gone := Gone(r, exp32(-r))
		q := float32(nu * gone)
		t[i] = max(int32(min(float32(q*flipOne), flipOne-1<<7)), 1)
	}
}

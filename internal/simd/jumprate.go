package simd

// JumpRate is the rate g(t) of a jump to a state of probability ratio t, for
// [JumpThresholds].
type JumpRate int

const (
	SqrtRate   JumpRate = iota // √t
	BarkerRate                 // t/(1+t)
	MinRate                    // min(1, t)
	MaxRate                    // max(1, t)
)

// Gone returns 1 − e^(−r) for r ≥ 0, given e = e^(−r), right to 10⁻⁶ of it.
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

// shortJump is where six terms of 1 − e^(−r) are as good as a float32: r⁶/5040 < 2⁻²⁴.
const shortJump = 0.25

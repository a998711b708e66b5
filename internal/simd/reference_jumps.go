package simd

import "math"

// refJumpThresholds is the definition of JumpThresholds. With e = e^(−|Δ|) the larger of
// ν and its complement is 1/(1+e), the smaller e/(1+e), and g/ν is
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

package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// heatBath returns the level that the uniform number u picks from
// p_l ∝ exp(−d_l), or −1 if no d_l is finite or one is NaN or −Inf. w is
// scratch.
func heatBath(w, d []float64, u float64) int {
	if len(d) == 2 {
		// p_1 = σ(d_0 − d_1); the difference is NaN for two infinities.
		diff := d[0] - d[1]
		if math.IsNaN(diff) || math.IsInf(d[0], -1) || math.IsInf(d[1], -1) {
			return -1
		}
		if u < simd.Sigmoid(diff) {
			return 1
		}
		return 0
	}
	low := math.Inf(1)
	for _, v := range d {
		if math.IsNaN(v) {
			return -1
		}
		low = min(low, v)
	}
	if math.IsInf(low, 0) {
		return -1
	}
	total := 0.0
	for l, v := range d {
		w[l] = simd.Exp(low - v)
		total += w[l]
	}
	u *= total
	last := -1
	for l := range d {
		if w[l] == 0 {
			continue
		}
		last = l
		if u -= w[l]; u < 0 {
			return l
		}
	}
	return last // rounding left a crumb
}

// odds returns 2⁶⁴·p(x_i = 1) for the difference E(x_i=1) − E(x_i=0), rounded
// down, at most 2⁶⁴ − 1.
func odds(diff float64) uint64 { return fraction(simd.Sigmoid(-diff)) }

// fraction returns 2⁶⁴·p, rounded down, at most 2⁶⁴ − 1.
func fraction(p float64) uint64 {
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(math.Ldexp(p, 64))
}

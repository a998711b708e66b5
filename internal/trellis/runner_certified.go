package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The bounds of certified. An exponential below exp(logTiny) or a product below
// it is lost by a float64 (2^-1074). Losses are accepted when they are below
// exp(−margin) of the result: 1e-17 of it. A node whose value is above 2^low in
// the units of its site has lost nothing that matters to it.
const (
	logTiny = -1074 * math.Ln2
	margin  = 39
	low     = -900
)

// lowest is 2^low.
const lowest = 0x1p-900

// certified reports whether everything that linear may have lost to underflow
// is negligible.
//
// At site t a term of a sum is at most tiny = exp(logTiny) too small for each
// token, times the greatest value ahead, or for each column, in the units of the
// values ahead. What comes before multiplies it by no more than the sums of all class
// sums. So
//
//	log lost_t ≤ Σ_{i<t} total_i + log(tokens + columns) + logTiny + (scale_{t+1} + top_{t+1})·log 2,
//
// top being the binary exponent of the greatest value, or 0 if that is larger, to be
// compared with log Z without its shifts.
func (r *Runner) certified() bool {
	g := r.g
	result := r.logZ
	for _, shift := range r.shift {
		result -= shift
	}
	limit := result - margin - simd.Log(float64(g.sites)) - logTiny
	before := 0.0
	for t, l := range g.layers {
		top := max(0, r.top[t+1])
		lost := before + l.logSize + float64(float64(r.scale[t+1]+top)*math.Ln2)
		if !(lost <= limit) {
			return false
		}
		before += r.total[t]
	}
	return true
}

package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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

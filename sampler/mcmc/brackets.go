package mcmc

import (
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// bracket holds bounds of a probability.
type bracket struct{ low, high float64 }

const (
	bracketEnd   = 40 // of the differences that have one
	bracketsUnit = 8  // in a unit of difference: one draw in forty or fewer lies within
	bracketSlack = 1e-12
)

// brackets bound the probability of level 1, simd.Sigmoid(−rise), for a difference
// between −bracketEnd and bracketEnd, by the bin of the difference: most draws need no
// exponential. The slack is far above what rounding may do to the function.
var brackets = sync.OnceValue(func() []bracket {
	b := make([]bracket, 2*bracketEnd*bracketsUnit+1) // what is just below the end may round to it
	for n := range b {
		from := float64(float64(n)/bracketsUnit) - bracketEnd
		b[n] = bracket{low: simd.Sigmoid(-(from + 1./bracketsUnit)) * (1 - bracketSlack), high: simd.Sigmoid(-from) * (1 + bracketSlack)}
	}
	return b
})

// up returns 1 if the uniform number u is below the probability of level 1, given the
// difference between the energies of level 1 and level 0, else 0.
func up(known []bracket, rise, u float64) int32 {
	if rise > -bracketEnd && rise < bracketEnd {
		b := &known[int((rise+bracketEnd)*bracketsUnit)]
		if l := below(u, b.low); l == below(u, b.high) {
			return l
		}
	}
	return below(u, simd.Sigmoid(-rise))
}

// below returns 1 if u < p, else 0, without a branch that half of the time is not
// foreseen: numbers that are not negative have the order of their bits.
func below(u, p float64) int32 { return int32((math.Float64bits(u) - math.Float64bits(p)) >> 63) }

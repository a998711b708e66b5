package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// accept returns the Metropolis–Hastings acceptance probability
// min(1, exp(drop + back − forth)), where drop is the energy lost by the move
// and forth and back are the log-probabilities of proposing it and its reverse.
// A proposal that cannot be judged has probability 0 and ok = false.
func accept(drop, forth, back float64) (a float64, ok bool) {
	if math.IsInf(drop, -1) {
		return 0, true // a state without probability; its table means nothing
	}
	if math.IsInf(drop, 1) || math.IsNaN(drop) || math.IsNaN(forth) || math.IsNaN(back) {
		return 0, false
	}
	if l := drop + (back - forth); l < 0 {
		return simd.Exp(l), true
	}
	return 1, true
}

// unadjusted returns the error of a kernel that cannot reject when it has moved
// to a state of energy e.
func unadjusted(e float64) error {
	switch {
	case math.IsInf(e, 1):
		return sampler.ErrZero
	case math.IsNaN(e) || math.IsInf(e, -1):
		return sampler.ErrNaN
	}
	return nil
}

// changed returns the number of sites at which the states x and y differ. There is
// no branch in it, which states at random would have mispredicted.
func changed(x, y []int32) (n int) {
	y = y[:len(x)]
	for i, l := range x {
		d := 0
		if y[i] != l {
			d = 1
		}
		n += d
	}
	return n
}

package train

import (
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Objective is a loss on states: the cross-entropy, in nats, of the clean tokens
// given the corrupted state, with a weight for each position, unless it is [Pooled].
// What fmt prints of it is part of a checkpoint.
type Objective interface {
	// Check returns an error unless the objective fits the network.
	Check(c neural.Config) error

	// Corrupt stores a corruption of clean in x and the weight of each
	// position's loss in weight, 0 where the prediction is not needed. It
	// returns the noise level that the network is shown. u in [0, 1) is the
	// strength of the corruption, spread evenly over a batch.
	Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) (level float64)
}

// RealObjective is a loss on reals: the squared error, averaged over entries, of what
// a network predicts from a corrupted state. What fmt prints of it is part of a
// checkpoint.
type RealObjective interface {
	// Check returns an error unless the objective fits the network.
	Check(c neural.Config) error

	// Corrupt stores a corruption of clean in x and what the network should
	// predict from it in target, and returns the noise level that the network is
	// shown. u in [0, 1) is the strength of the corruption, spread evenly over a
	// batch.
	Corrupt(x, target, clean []float32, u float64, r *rand.Rand) (level float64)
}

// Masked is the objective of masked diffusion (MDLM; Sahoo et al. 2024) for
// networks that do not see the time: its expectation is the negative evidence
// lower bound of a state,
//
//	NELBO(x) = E_n E_S [ L/n · Σ_{i∈S} −log p(x_i | x without S) ],
//
// with n uniform over 1 … L and S a random set of n positions. The integral over
// time of the continuous bound, ∫ dt/t, is the sum over n with the weights
// 1/n (Ou et al. 2025), whatever the schedule; the variance of a random number
// of masks is gone.
type Masked struct {
	// Mask is the level that stands for a masked token.
	Mask int32
}

// Check returns an error unless Mask is a level of the network.
func (o Masked) Check(c neural.Config) error {
	if o.Mask < 0 || int(o.Mask) >= c.Levels {
		return fmt.Errorf("train: Masked: Mask = %d, want 0 … %d", o.Mask, c.Levels-1)
	}
	return nil
}

// Corrupt implements [Objective]. The level is 0.
func (o Masked) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	checkCorrupt("Masked", x, weight, clean, r)
	left := 1 + int(u*float64(len(clean)))
	w := float64(len(clean)) / float64(left)
	for i, l := range clean {
		x[i], weight[i] = l, 0
		// Selection sampling: left of the positions from i on are still due.
		if r.IntN(len(clean)-i) < left {
			x[i], weight[i] = o.Mask, w
			left--
		}
	}
	return 0
}

// Noisy is the cross-entropy of uniform diffusion: a token is intact with
// probability α = 1 − (1−10⁻³)·u, as in the log-linear schedule of MDLM and UDLM,
// and else uniform over the levels; the network is shown −log α. At its minimum
// the network predicts the full posterior p(x_0,i | x_t): see [neural.Uniform].
type Noisy struct {
	// Levels is the number of tokens.
	Levels int
}

// leastSignal is the signal level at time 1.
const leastSignal = 1e-3

// Check returns an error unless Levels is that of the network.
func (o Noisy) Check(c neural.Config) error {
	if o.Levels != c.Levels {
		return fmt.Errorf("train: Noisy: Levels = %d, want %d, as the network has", o.Levels, c.Levels)
	}
	return nil
}

// Corrupt implements [Objective].
func (o Noisy) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	checkCorrupt("Noisy", x, weight, clean, r)
	if o.Levels < 1 {
		panic(fmt.Sprintf("train: Noisy: Levels = %d, want ≥ 1", o.Levels))
	}
	noise := float64((1 - leastSignal) * u)
	for i, l := range clean {
		x[i], weight[i] = l, 1
		if r.Float64() < noise {
			x[i] = int32(r.IntN(o.Levels))
		}
	}
	return -simd.Log1p(-noise)
}

// checkCorrupt panics unless the arguments of Corrupt fit.
func checkCorrupt(who string, x []int32, weight []float64, clean []int32, r *rand.Rand) {
	check.Len("train", "x", len(x), len(clean))
	check.Len("train", "weight", len(weight), len(clean))
	check.Must("train: "+who, "r", r)
}

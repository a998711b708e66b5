package train

import (
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Objective defines the training of a network of tokens: how a clean state is corrupted, and how
// the loss is weighted. Each position contributes the cross-entropy, in nats, of its clean token
// given the corrupted state. The loss is the weighted sum of these contributions. A [Pooled]
// objective has its own loss. A checkpoint stores the text that fmt prints for the Objective. Only
// a trainer whose Objective prints the same text can load it.
type Objective interface {
	// Check returns an error unless the objective can train a network of configuration c.
	Check(c neural.Config) error

	// Corrupt stores a corrupted copy of the clean state in x. It stores the weight of the loss at
	// each position in the slice weight. The weight is 0 where the prediction is not needed.
	// Corrupt returns the noise level for the network. The argument u in [0, 1) is the strength of
	// the corruption; a batch has evenly spread values of u.
	Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) (level float64)
}

// RealObjective defines the training of a network of reals: how a clean state is corrupted, and the
// desired output. The loss is the squared error of the network's output for the corrupted state,
// averaged over entries. A checkpoint stores the text that fmt prints for the RealObjective. Only a
// trainer whose RealObjective prints the same text can load it.
type RealObjective interface {
	// Check returns an error unless the objective can train a network of configuration c.
	Check(c neural.Config) error

	// Corrupt stores a corrupted copy of the clean state in x. It stores the desired output of the
	// network in target, and returns the noise level for the network. The argument u in [0, 1) is
	// the strength of the corruption; a batch has evenly spread values of u.
	Corrupt(x, target, clean []float32, u float64, r *rand.Rand) (level float64)
}

// RealLoss is a [RealObjective] with a loss of its own in place of the squared error.
type RealLoss interface {
	RealObjective

	// Loss returns the loss of the network's output y for the state x. It stores in d the gradient
	// of the loss with respect to y. The arguments x and target are what Corrupt stored, and level
	// is what Corrupt returned. The argument row is the index of the row of the data. The slices d
	// and y may be the same. Loss is called concurrently.
	Loss(d, y, target, x []float32, level float64, row int) float64
}

// Masked is the objective of masked diffusion (MDLM; Sahoo et al. 2024) for networks that do not
// depend on time. Its expectation is the negative evidence lower bound of a state x of L tokens,
//
//	NELBO(x) = E_n E_S [ L/n · Σ_{i∈S} −log p(x_i | x without S) ],
//
// where n is uniform over 1 … L, S is a random set of n positions, and x without S has masks at
// these positions. This bound is the same for every schedule (Ou et al. 2025).
type Masked struct {
	// Mask is the level of a masked token.
	Mask int32
}

// Check returns an error unless Mask is a level of a network of configuration c.
func (o Masked) Check(c neural.Config) error {
	if o.Mask < 0 || int(o.Mask) >= c.Levels {
		return fmt.Errorf("train: Masked: Mask = %d, want 0 … %d", o.Mask, c.Levels-1)
	}
	return nil
}

// Corrupt stores in x the clean state with the mask at a random set of positions. It returns the
// noise level 0. It implements [Objective].
func (o Masked) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	checkCorrupt("Masked", x, weight, clean, r)
	left := 1 + int(u*float64(len(clean)))
	w := float64(len(clean)) / float64(left)
	for i, l := range clean {
		x[i], weight[i] = l, 0
		// Selection sampling: left positions from i onwards are still to be masked.
		if r.IntN(len(clean)-i) < left {
			x[i], weight[i] = o.Mask, w
			left--
		}
	}
	return 0
}

// Noisy is the cross-entropy objective of uniform diffusion. A token is intact with probability α =
// 1 − (1−10⁻³)·u, where u is the strength of the corruption. Otherwise it is drawn uniformly from
// the levels. This is the log-linear schedule of MDLM and UDLM. The network receives −log α as its
// noise level. A network that minimises the loss predicts the full posterior p(x_0,i | x_t) of a
// clean token given the noisy state; see [neural.Uniform].
type Noisy struct {
	// Levels is the number of levels of a token.
	Levels int
}

// leastSignal is the signal level α at time 1.
const leastSignal = 1e-3

// Check returns an error unless the field Levels equals c.Levels of the network's configuration c.
func (o Noisy) Check(c neural.Config) error {
	if o.Levels != c.Levels {
		return fmt.Errorf("train: Noisy: Levels = %d, want %d, as the network has", o.Levels, c.Levels)
	}
	return nil
}

// Corrupt replaces random tokens by tokens drawn uniformly from the levels; it implements
// [Objective].
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

// checkCorrupt panics unless the arguments of Corrupt have matching lengths and r is not nil.
func checkCorrupt(who string, x []int32, weight []float64, clean []int32, r *rand.Rand) {
	check.Len("train", "x", len(x), len(clean))
	check.Len("train", "weight", len(weight), len(clean))
	check.Must("train: "+who, "r", r)
}

// Flow is the objective of flow matching on straight paths (Lipman, Chen, Ben-Hamu, Nickel and Le
// 2023; Liu, Gong and Liu 2023). Time 1 is pure noise, as in diffusions. The network receives the
// noise level 1000·s and the state
//
//	z = (1−s)·x_0 + s·ε
//
// where x_0 is a clean state, s is uniform over [0, 1), and ε is standard normal. The network
// learns the velocity
//
//	u(z, s) = E[ε − x_0 | z],
//
// which denoise.Velocity turns into the posterior mean, x̂_0 = z − s·u.
type Flow struct{}

// Check returns an error unless networks of configuration c have the noise level as an input, that
// is, c.Cond ≥ 1.
func (Flow) Check(c neural.Config) error {
	if c.Cond == 0 {
		return fmt.Errorf("train: Flow: the network has Cond = 0, want ≥ 1")
	}
	return nil
}

// Corrupt stores in x the noisy state z = (1−u)·x_0 + u·ε, where x_0 is the clean state and ε is
// standard normal. In target it stores the velocity ε − x_0. It returns the noise level 1000·u and
// implements [RealObjective].
func (Flow) Corrupt(x, target, clean []float32, u float64, r *rand.Rand) float64 {
	check.Len("train", "x", len(x), len(clean))
	check.Len("train", "target", len(target), len(clean))
	check.Must("train: Flow", "r", r)
	normal.Fill(target, r)
	signal, noise := float32(1-u), float32(u)
	for i, c := range clean {
		e := target[i]
		x[i] = float32(signal*c) + float32(noise*e)
		target[i] = e - c
	}
	return 1000 * u
}

// Pairs holds training data for a network of reals: inputs and desired outputs, one pair per row.
// No noise is added to the inputs. The loss is the squared error, averaged over the entries of a
// target.
type Pairs struct {
	X      []float32 // inputs, rows × Length × Channels
	Level  []float64 // noise level of each row; nil means all 0
	Target []float32 // desired outputs, rows × Length × Outputs
}

// finite returns an error that names the first number in v that is not finite.
func finite[T float32 | float64](name string, v []T) error {
	for i, x := range v {
		if !check.Finite(float64(x)) {
			return fmt.Errorf("train: NewPairs: %s[%d] = %v, want a finite number", name, i, x)
		}
	}
	return nil
}

// store copies the pair of a row to x and target, and returns its noise level.
func (p *Pairs) store(x, target []float32, row int) float64 {
	copy(x, p.X[row*len(x):(row+1)*len(x)])
	copy(target, p.Target[row*len(target):(row+1)*len(target)])
	if p.Level == nil {
		return 0
	}
	return p.Level[row]
}

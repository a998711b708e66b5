package train

import (
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
)

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

// Flow is the objective of flow matching on straight paths (Lipman, Chen, Ben-Hamu,
// Nickel and Le 2023; Liu, Gong and Liu 2023), with noise at time 1 as in
// diffusions: for s uniform over [0, 1) and ε standard normal, the network is shown
// z = (1−s)·x_0 + s·ε and 1000·s, and learns the velocity
//
//	u(z, s) = E[ε − x_0 | z],
//
// which energy.VelocityPredictor turns into the posterior mean, x̂_0 = z − s·u.
type Flow struct{}

// Check returns an error unless the network sees a noise level.
func (Flow) Check(c neural.Config) error {
	if c.Cond == 0 {
		return fmt.Errorf("train: Flow: the network has Cond = 0, want ≥ 1")
	}
	return nil
}

// Corrupt implements [RealObjective].
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

// NewReals returns a trainer of a network of reals on data, rows of Length × Channels
// numbers, which it keeps. The error says what of cfg is out of range, that the
// objective does not fit, that the network is one of tokens or has other outputs than
// channels, that data are no rows or none, or which number is not finite.
func NewReals(net *neural.Transformer, objective RealObjective, data []float32, cfg Config) (*Trainer, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	p, err := realProblem(net, objective, data)
	if err != nil {
		return nil, err
	}
	return newTrainer(net, p, cfg), nil
}

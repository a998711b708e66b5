package train

import (
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
)

// Flow is the objective of flow matching on straight paths (Lipman, Chen, Ben-Hamu,
// Nickel and Le 2023; Liu, Gong and Liu 2023), with noise at time 1 as in
// diffusions: for s uniform over [0, 1) and ε standard normal, the network is shown
// z = (1−s)·x_0 + s·ε and 1000·s, and learns the velocity
//
//	u(z, s) = E[ε − x_0 | z],
//
// which denoise.Velocity turns into the posterior mean, x̂_0 = z − s·u.
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

package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Config holds the settings of a [Trainer]. Rounds must be set. The zero value of every other field
// is the recommended setting.
type Config struct {
	// Rounds is the number of rounds of the whole training. Each round first fills a buffer
	// with the states of reverse diffusions, and then trains on PerRound batches from the
	// buffer. A PerRound of 0 means 128.
	Rounds, PerRound int

	// Bounds describes the problems for which the network is trained. The problems differ in the
	// bounds of their constraints. For problem b, the numbers in Bounds[b], one per inequality, are
	// added to the violations of the teacher (the predictor from which the network learns). If
	// Bounds is nil, the only problem is the teacher's own.
	Bounds [][]float64

	// Dual, if not nil, is the rule of dual training. Dual training is the baseline of PDI-Net
	// (Hadou et al. 2026, Algorithm 3). It has a single λ, initially 0, which is not an input of
	// the network. Every round runs its diffusions at this λ and moves λ by the violations of their
	// samples. The trained network is valid only at the λ of the last round ([Trainer.Lambda]) and
	// for a single entry of Bounds. Every rule is suitable, including [dual.Auto].
	Dual dual.Rule

	// Inference holds the settings of primal–dual inference in the diffusions of the training. Use
	// the settings with which the network will run later. Domain must be nil, Fixed must be false,
	// and Scarce has no effect. If Max is nil, multipliers stay below a multiple of the largest
	// multiplier in the first round. The diffusions of the training have fewer steps than later
	// runs, so a constant step size should be proportionally larger than in later runs.
	Inference pdi.Config

	// The network is a chain of blocks (see neural.Config). Blocks is the number of blocks; 0 means
	// 2. Width is the number of features between blocks; 0 means 128. Cond is the number of
	// features that encode the noise level; 0 means 64.
	Width, Blocks, Cond int

	// Center and Spread are the mean and the variances of a Gaussian that resembles the
	// distribution without constraints. They hold one number per coordinate, or a single number for
	// all; nil means 0 and 1. The network learns the difference between the teacher's prediction
	// and the prediction for this Gaussian. This difference is clipped to six posterior standard
	// deviations, because Monte Carlo predictions at high noise are unbounded.
	Center, Spread []float64

	// Domain, if not nil, projects a prediction in place onto the set of possible samples, like
	// pdi.Config.Domain. It applies to the predictions of the teacher and of the network.
	Domain func(x []float32)

	// Chains is the number of samples of a diffusion; 0 means 64. Path is the number of steps of a
	// diffusion; 0 means 32. A round runs two diffusions for each entry of Bounds, and the network
	// is trained on all states of these diffusions.
	Chains, Path int

	// Train holds the settings of the optimiser. Train.Steps must be Rounds × PerRound or
	// 0, and Train.Checkpoint must be its zero value.
	Train train.Config

	// Checkpoint, if its Path is set, saves the whole training to that file and keeps the previous
	// file as Path.old. It saves at the end of every Run, even if the context ended Run. If Every
	// is k > 0, it also saves after every k rounds. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const (
	defaultPerRound = 128
	defaultWidth    = 128
	defaultBlocks   = 2
	defaultCond     = 64
	defaultChains   = 64
	defaultPath     = 32
	together        = 8       // samples of a diffusion that share a randomly drawn λ
	most            = 1 << 20 // largest value of each number in a Config
)

// resolve fills in defaults and checks the configuration, as far as possible without predictions
// of the teacher.
func (c Config) resolve(ctx context.Context, teacher pdi.Predictor) (Config, error) {
	for _, f := range []struct {
		name   string
		value  *int
		from   int
		preset int
	}{
		{"Rounds", &c.Rounds, 1, 0}, {"PerRound", &c.PerRound, 1, defaultPerRound},
		{"Width", &c.Width, 1, defaultWidth}, {"Blocks", &c.Blocks, 1, defaultBlocks}, {"Cond", &c.Cond, 1, defaultCond},
		{"Chains", &c.Chains, 2, defaultChains}, {"Path", &c.Path, 2, defaultPath},
	} {
		if *f.value == 0 {
			*f.value = f.preset
		}
		if *f.value < f.from || *f.value > most {
			return c, fmt.Errorf("network: Config.%s = %d, want %d … %d", f.name, *f.value, f.from, most)
		}
	}
	if err := check.Defaults("network: Config.", check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0)); err != nil {
		return c, err
	}
	if err := check.Entries("network: New", "Config.Rounds × Config.PerRound", c.Rounds, c.PerRound); err != nil {
		return c, err
	}
	steps := c.Rounds * c.PerRound
	if c.Train.Steps == 0 {
		c.Train.Steps = steps
	}
	switch {
	case c.Train.Steps != steps:
		return c, fmt.Errorf("network: Config.Train.Steps = %d, want Rounds × PerRound = %d, or 0", c.Train.Steps, steps)
	case c.Train.Checkpoint.Path != "" || c.Train.Checkpoint.Every != 0:
		return c, fmt.Errorf("network: Config.Train.Checkpoint is set, want none: Config.Checkpoint saves the whole training")
	case c.Inference.Domain != nil:
		return c, fmt.Errorf("network: Config.Inference.Domain is set, want nil: Config.Domain serves both")
	case c.Inference.Fixed:
		return c, fmt.Errorf("network: Config.Inference.Fixed = true, want false: the network learns along moving multipliers")
	}
	var err error
	if c.Bounds, err = bounds(c.Bounds, teacher.Len()); err != nil {
		return c, err
	}
	if c.Dual != nil {
		if err := check.Optional("network: Config", "Dual", c.Dual); err != nil {
			return c, err
		}
		if len(c.Bounds) != 1 {
			return c, fmt.Errorf("network: len(Config.Bounds) = %d, want 1 with Config.Dual, whose network serves one", len(c.Bounds))
		}
	}
	if _, err := pdi.New(ctx, teacher, c.Inference); err != nil {
		return c, fmt.Errorf("network: Config.Inference: %w", err)
	}
	d, m := teacher.Sites(), teacher.Len()
	return c, check.Entries("network: New", "2 × bounds × Chains × Path × (2·sites + multipliers)", 2*len(c.Bounds), c.Chains, c.Path, 2*d+m)
}

// bounds returns a copy of b, or one row of m zeros if b is nil. It returns an error unless every
// row has m finite numbers.
func bounds(b [][]float64, m int) ([][]float64, error) {
	if b == nil {
		return [][]float64{make([]float64, m)}, nil
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("network: len(Config.Bounds) = 0, want ≥ 1, or nil for the teacher's own")
	}
	all := make([][]float64, len(b))
	for k, row := range b {
		if err := bound(fmt.Sprintf("Config.Bounds[%d]", k), row, m); err != nil {
			return nil, err
		}
		all[k] = slices.Clone(row)
	}
	return all, nil
}

// bound returns an error unless a row has m finite numbers.
func bound(name string, row []float64, m int) error {
	if len(row) != m {
		return fmt.Errorf("network: len(%s) = %d, want %d", name, len(row), m)
	}
	for j, v := range row {
		if !check.Finite(v) {
			return fmt.Errorf("network: %s[%d] = %v, want a finite number", name, j, v)
		}
	}
	return nil
}

// shape returns the shape of the network: a single position whose channels are the d coordinates
// of the state and the m multipliers.
func (c Config) shape(d, m int) neural.Config {
	return neural.Config{Length: 1, Channels: d + m, Outputs: d, Width: c.Width, Heads: 1, Blocks: c.Blocks, Cond: c.Cond}
}

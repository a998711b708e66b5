package fit

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Config holds the settings of a [Fit]. Chains must be set for the default objective. The zero
// values of all other fields are ready for use. They select maximum likelihood with [Persistent]
// chains, and every step then uses all data.
type Config struct {
	Objective Objective // how to estimate the gradient; nil means Persistent{}

	// Chains is the primal that draws samples from the fitted model p, for instance
	// sampler.NewChains(ctx, p, …). It must use the same p. A warm-up, if any, is part of the first
	// step.
	Chains dual.Primal[int32]

	Batch int    // number of rows of data per step, drawn without replacement; 0 means all
	Seed  uint64 // seed for the choice of rows

	// Rate is the step size η of Adam (Kingma and Ba 2015); nil means dual.Power(0.1, 0.5), which
	// is 0.1/√(1+t) at step t.
	Rate dual.Schedule

	// Memory is the decay β₂ of Adam's moving average of squared gradients, 0 ≤ Memory < 1. 0 means
	// 0.999. If there is little noise, as with Pseudo and Exact on all data, 0.9 is faster.
	Memory float64

	// L1 and L2 are the weights λ₁ and λ₂ of the penalties λ₁·Σ_k c_k|θ_k| and (λ₂/2)·Σ_k c_k θ_k²
	// of the parameters θ, in nats per row of data. The factors c_k are in Penalty. A proximal
	// step, scaled per parameter, applies the penalties after each step of Adam. L1 therefore gives
	// exact zeros, and the optimum does not depend on the rate.
	L1, L2 float64

	// Penalty holds the factor c_k ≥ 0 of both penalties for each parameter k (see L1); nil means 1
	// for all.
	Penalty []float64

	// Fixed[k] is true if parameter k is held constant. A nil Fixed means that none is.
	Fixed []bool

	// Observe, if not nil, is called after every step. It receives the new parameters and the
	// gradient before the step, without penalties. It must not keep the slices.
	Observe func(step int, theta, gradient []float64)

	// Checkpoint, if its Path is set, saves the fit to that file and keeps the previous file as
	// Path.old. It saves when Run ends, even if the context ended Run. If Every is k > 0, it also
	// saves after every k steps. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const defaultMemory = 0.999 // default of Config.Memory (Kingma and Ba 2015)

// fill checks the configuration for n parameters and the given number of data rows. It replaces
// zero fields by defaults.
func (c *Config) fill(n, rows int) error {
	if err := check.Defaults("fit: Config.", check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0)); err != nil {
		return err
	}
	switch {
	case c.Batch < 0 || c.Batch > rows:
		return fmt.Errorf("fit: Config.Batch = %d, want 0 … %d, the rows of data", c.Batch, rows)
	case !(c.Memory >= 0 && c.Memory < 1):
		return fmt.Errorf("fit: Config.Memory = %v, want 0 ≤ Memory < 1", c.Memory)
	case !(c.L1 >= 0 && check.Finite(c.L1)):
		return fmt.Errorf("fit: Config.L1 = %v, want a finite number ≥ 0", c.L1)
	case !(c.L2 >= 0 && check.Finite(c.L2)):
		return fmt.Errorf("fit: Config.L2 = %v, want a finite number ≥ 0", c.L2)
	case c.Penalty != nil && len(c.Penalty) != n:
		return fmt.Errorf("fit: len(Config.Penalty) = %d, want %d, the number of parameters", len(c.Penalty), n)
	case c.Fixed != nil && len(c.Fixed) != n:
		return fmt.Errorf("fit: len(Config.Fixed) = %d, want %d, the number of parameters", len(c.Fixed), n)
	}
	for k, v := range c.Penalty {
		if !(v >= 0 && check.Finite(v)) {
			return fmt.Errorf("fit: Config.Penalty[%d] = %v, want a finite number ≥ 0", k, v)
		}
	}
	if err := check.Optional("fit: Config", "Objective", c.Objective); err != nil {
		return err
	}
	if err := check.Optional("fit: Config", "Chains", c.Chains); err != nil {
		return err
	}
	if c.Objective == nil {
		c.Objective = Persistent{}
	}
	if c.Batch == 0 {
		c.Batch = rows
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if c.Rate == nil {
		c.Rate = dual.Power(0.1, 0.5)
	}
	return nil
}

// penalty returns the L1 and L2 weights of parameter k.
func (c *Config) penalty(k int) (l1, l2 float64) {
	l1, l2 = c.L1, c.L2
	if c.Penalty != nil {
		l1, l2 = l1*c.Penalty[k], l2*c.Penalty[k]
	}
	return l1, l2
}

package dual

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Decay shrinks the multipliers before every step of the inner rule: λ ← (1 − Rate)·λ. It
// keeps them bounded when the constraints cannot be met, at the price of a bias: with
// [Ascent] inside, ḡ = Rate·λ/η at rest instead of 0.
type Decay struct {
	Rule Rule    // nil means Auto{}
	Rate float64 // in [0, 1); 0 forgets nothing
}

// Bind implements [Rule]. It returns an error if the rate is out of range.
func (d Decay) Bind(ctx context.Context, n int) (Updater, error) {
	if err := checkCount("Decay", n); err != nil {
		return nil, err
	}
	if !(d.Rate >= 0 && d.Rate < 1) {
		return nil, fmt.Errorf("dual: Decay: Rate = %v, want 0 ≤ Rate < 1", d.Rate)
	}
	if d.Rule == nil {
		d.Rule = Auto{}
	}
	if err := check.Given("dual: Decay", "Rule", d.Rule); err != nil {
		return nil, err
	}
	u, err := d.Rule.Bind(ctx, n)
	if err != nil {
		return nil, err
	}
	return &decay{u, 1 - d.Rate, make([]float64, n)}, nil
}

type decay struct {
	Updater
	keep   float64
	before []float64
}

func (d *decay) Update(lambda []float64, b *Batch) error {
	copy(d.before, lambda)
	for j := range lambda {
		lambda[j] *= d.keep
	}
	err := d.Updater.Update(lambda, b)
	if err != nil {
		copy(lambda, d.before)
	}
	return err
}

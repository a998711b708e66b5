package dual

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Rule is a recipe for moving multipliers: a plain struct such as Auto{} or
// Ascent{Step: Constant(0.1)}, whose zero value is the recommended setting.
type Rule interface {
	// Bind returns an updater of n multipliers with a state of its own. It stops
	// with the error of a context that ends.
	Bind(ctx context.Context, n int) (Updater, error)
}

// Updater moves multipliers, keeping what it must remember between steps.
type Updater interface {
	// Update replaces λ by its next value, within [0, b.Max] or, in the rows of
	// b.Equal, [−b.Max, b.Max], and keeps neither slice. It allocates nothing.
	// On an error λ is unchanged.
	Update(lambda []float64, b *Batch) error

	// AppendBinary appends the state of the updater to data, so that a
	// restored one goes on to the same bits.
	AppendBinary(data []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary wrote, for an updater of the
	// same rule and number of multipliers.
	UnmarshalBinary(data []byte) error
}

// Decay forgets: λ ← (1 − Rate)·λ, then the inner rule. It keeps multipliers
// bounded when the constraints cannot be met, at the price of a bias: with
// [Ascent] inside, ḡ = Rate·λ/η at rest instead of 0.
type Decay struct {
	Rule Rule    // nil means Auto{}
	Rate float64 // in [0, 1); 0 forgets nothing
}

// Bind implements [Rule]. It returns an error if the rate is out of range.
func (d Decay) Bind(ctx context.Context, n int) (Updater, error) {
	if !(d.Rate >= 0 && d.Rate < 1) {
		return nil, fmt.Errorf("dual: Decay: Rate = %v, want 0 ≤ Rate < 1", d.Rate)
	}
	if d.Rule == nil {
		d.Rule = Auto{}
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

// stepSize returns the step size at step t after checking it.
func stepSize(rule string, s Schedule, t int) (float64, error) {
	eta := s(t)
	if !(eta >= 0) || !check.Finite(eta) {
		return 0, fmt.Errorf("dual: %s: step size at step %d = %v, want a finite number ≥ 0", rule, t, eta)
	}
	return eta, nil
}

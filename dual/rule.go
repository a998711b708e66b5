package dual

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Rule defines how a loop such as [Inference] updates the multipliers. A rule is a plain struct
// such as Auto{} or Ascent{Step: Constant(0.1)}, whose zero value is the recommended setting.
// Package dualtest checks rules.
type Rule interface {
	// Bind returns a new updater for n ≥ 1 multipliers. Every updater has its own state. If the
	// context ends, Bind returns the context's error.
	Bind(ctx context.Context, n int) (Updater, error)
}

// Updater updates multipliers by a [Rule] during one run, and keeps what the rule needs from
// earlier steps.
type Updater interface {
	// Update replaces the multipliers λ by their next values, given the batch b. The values are
	// within [0, b.Max], or within [−b.Max, b.Max] for the equalities marked in b.Equal. Update
	// must not keep the slices or allocate. On an error λ is unchanged.
	Update(lambda []float64, b *Batch) error

	// AppendBinary appends the state of the updater to data. An updater restored from this
	// state continues bit for bit.
	AppendBinary(data []byte) ([]byte, error)

	// UnmarshalBinary restores a state that AppendBinary wrote. The updater must have the
	// same rule and number of multipliers.
	UnmarshalBinary(data []byte) error
}

// stepper is an [Updater] that reads and writes its state through wire.Fields.
type stepper interface {
	Update(lambda []float64, b *Batch) error
	fields(f *wire.Fields)
}

// updater implements [Updater] for a stepper.
type updater struct{ stepper }

func (u updater) AppendBinary(data []byte) ([]byte, error) { return wire.AppendFields(data, u.fields) }

func (u updater) UnmarshalBinary(data []byte) error { return wire.ReadFields(data, u.fields) }

// checkCount returns an error if n is below 1 or too large for a rule.
func checkCount(rule string, n int) error {
	return cmp.Or(check.If(n < 1, "dual: %s: n = %d, want ≥ 1", rule, n), check.Entries("dual: "+rule, "n", n))
}

// Decay is a rule that shrinks the multipliers before every step of another rule: λ ← (1 − Rate)·λ.
// This keeps the multipliers bounded when the constraints cannot be satisfied, at the price of a
// bias. After [Ascent] with step size η, for example, the mean violation ḡ converges to Rate·λ/η
// instead of 0.
type Decay struct {
	Rule Rule    // rule that then updates the shrunken multipliers; nil means Auto{}
	Rate float64 // fraction removed from λ at every step, in [0, 1)
}

// Bind returns a new updater for n multipliers; it implements [Rule]. It returns an error if the
// rate is out of range.
func (d Decay) Bind(ctx context.Context, n int) (Updater, error) {
	if d.Rule == nil {
		d.Rule = Auto{}
	}
	if err := cmp.Or(
		checkCount("Decay", n),
		check.If(!(d.Rate >= 0 && d.Rate < 1), "dual: Decay: Rate = %v, want 0 ≤ Rate < 1", d.Rate),
		check.Given("dual: Decay", "Rule", d.Rule),
	); err != nil {
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

package dual

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Rule is a recipe for moving multipliers: a plain struct such as
// Ascent{Step: Constant(0.1)} whose zero value is the recommended setting.
type Rule interface {
	// Bind returns an updater of n multipliers with a state of its own. It stops
	// with the error of a context that ends.
	Bind(ctx context.Context, n int) (Updater, error)
}

// Updater moves multipliers, keeping what it must remember between steps.
type Updater interface {
	// Update replaces λ by its next value, within [0, b.Max], and keeps
	// neither slice. It allocates nothing. On an error λ is unchanged.
	Update(lambda []float64, b *Batch) error

	// AppendBinary appends the state of the updater to data, so that a
	// restored one goes on to the same bits.
	AppendBinary(data []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary wrote, for an updater of the
	// same rule and number of multipliers.
	UnmarshalBinary(data []byte) error
}

// Ascent is projected dual ascent,
//
//	λ ← clip(λ + η_t ḡ, 0, max),
//
// the rule of Hadou, Uslu and Ribeiro 2026. η is in units of λ per unit of g:
// it must suit the problem. [Newton] finds its own scale.
type Ascent struct {
	Step Schedule // η_t; nil means Power(1, 0.5)
}

// Bind implements [Rule].
func (a Ascent) Bind(_ context.Context, n int) (Updater, error) {
	if a.Step == nil {
		a.Step = Power(1, 0.5)
	}
	return &ascent{step: a.Step}, nil
}

type ascent struct {
	stateless
	step Schedule
}

func (a *ascent) Update(lambda []float64, b *Batch) error {
	eta, err := stepSize("Ascent", a.step, b.Step)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		lambda[j] = clip(lambda[j]+float64(eta*g), b.Max)
	}
	return nil
}

// Decay forgets: λ ← (1 − Rate)·λ, then the inner rule. It keeps multipliers
// bounded when the constraints cannot be met, at the price of a bias: at rest
// ḡ = Rate·λ/η instead of 0.
type Decay struct {
	Rule Rule    // nil means Ascent{}
	Rate float64 // in [0, 1)
}

// Bind implements [Rule]. It returns an error if the rate is out of range.
func (d Decay) Bind(ctx context.Context, n int) (Updater, error) {
	if !(d.Rate >= 0 && d.Rate < 1) {
		return nil, fmt.Errorf("dual: Decay: Rate = %v, want 0 ≤ Rate < 1", d.Rate)
	}
	if d.Rule == nil {
		d.Rule = Ascent{}
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

// PI is a proportional-integral controller,
//
//	I ← clip(I + K_I ḡ, 0, max),   λ ← clip(I + K_P ḡ, 0, max):
//
// dual ascent with a term that answers a violation at once and damps the
// oscillation of λ around its goal. The integral starts at λ and does not wind
// up beyond the bounds.
type PI struct {
	Integral     Schedule // K_I; nil means Power(1, 0.5)
	Proportional float64  // K_P ≥ 0
}

// Bind implements [Rule]. It returns an error if the gain is negative or not
// finite.
func (p PI) Bind(_ context.Context, n int) (Updater, error) {
	if !(p.Proportional >= 0) || !check.Finite(p.Proportional) {
		return nil, fmt.Errorf("dual: PI: Proportional = %v, want a finite number ≥ 0", p.Proportional)
	}
	if p.Integral == nil {
		p.Integral = Power(1, 0.5)
	}
	return &controller{p: p, integral: make([]float64, n)}, nil
}

type controller struct {
	p        PI
	begun    bool
	integral []float64
}

func (c *controller) Update(lambda []float64, b *Batch) error {
	k, err := stepSize("PI", c.p.Integral, b.Step)
	if err != nil {
		return err
	}
	if !c.begun {
		copy(c.integral, lambda)
		c.begun = true
	}
	for j, g := range b.Mean {
		c.integral[j] = clip(c.integral[j]+float64(k*g), b.Max)
		lambda[j] = clip(c.integral[j]+float64(c.p.Proportional*g), b.Max)
	}
	return nil
}

func (c *controller) AppendBinary(data []byte) ([]byte, error) {
	begun := 0.0
	if c.begun {
		begun = 1
	}
	return wire.AppendFloat64s(data, append([]float64{begun}, c.integral...)), nil
}

func (c *controller) UnmarshalBinary(data []byte) error {
	begun := make([]float64, 1)
	data, err := wire.ReadFloat64s(data, begun)
	if err == nil {
		data, err = wire.ReadFloat64s(data, c.integral)
	}
	if err == nil {
		err = wire.ReadEnd(data)
	}
	c.begun = begun[0] == 1
	return err
}

// stateless updaters remember nothing.
type stateless struct{}

func (stateless) AppendBinary(data []byte) ([]byte, error) { return data, nil }
func (stateless) UnmarshalBinary(data []byte) error        { return wire.ReadEnd(data) }

// stepSize returns the step size at step t after checking it.
func stepSize(rule string, s Schedule, t int) (float64, error) {
	eta := s(t)
	if !(eta >= 0) || !check.Finite(eta) {
		return 0, fmt.Errorf("dual: %s: step size at step %d = %v, want a finite number ≥ 0", rule, t, eta)
	}
	return eta, nil
}

// clip returns v held within [0, most].
func clip(v, most float64) float64 { return min(max(v, 0), most) }

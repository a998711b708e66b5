package dual

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// PI is a proportional–integral controller with smoothed errors (νPI: Sohrabi,
// Ramirez, Zhang, Lacoste-Julien and Gallego-Posada 2024), in the form without
// an integral of its own,
//
//	ξ_t = ν ξ_{t−1} + (1−ν) ḡ,   λ ← clip(λ + η_t(ḡ + κ(ξ_t − ξ_{t−1})), 0, max):
//
// dual ascent with a term that answers a change of the violation at once and
// damps the oscillation of λ around its goal. The clipped λ is the integral, so
// nothing winds up while a multiplier rests at a bound.
type PI struct {
	Integral     Schedule // η_t; nil means that of Ascent{}
	Proportional float64  // κ ≥ 0; 0 means 1, −1 none
	Smooth       float64  // ν in [0, 1)
}

// Bind implements [Rule]. It returns an error if a field is out of range.
func (p PI) Bind(_ context.Context, n int) (Updater, error) {
	if err := checkCount("PI", n); err != nil {
		return nil, err
	}
	switch p.Proportional {
	case 0:
		p.Proportional = 1
	case -1:
		p.Proportional = 0
	}
	if !(p.Proportional >= 0) || !check.Finite(p.Proportional) {
		return nil, fmt.Errorf("dual: PI: Proportional = %v, want −1 or a finite number ≥ 0", p.Proportional)
	}
	if !(p.Smooth >= 0 && p.Smooth < 1) {
		return nil, fmt.Errorf("dual: PI: Smooth = %v, want 0 ≤ Smooth < 1", p.Smooth)
	}
	return &controller{gains: newGains("PI", p.Integral, n), p: p, smooth: make([]float64, n)}, nil
}

type controller struct {
	gains
	p      PI
	smooth []float64 // ξ
}

func (c *controller) Update(lambda []float64, b *Batch) error {
	eta, err := c.next(b, b.Step)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		if b.Step == 0 {
			c.smooth[j] = g
		}
		change := float64((1 - c.p.Smooth) * (g - c.smooth[j]))
		c.smooth[j] += change
		lambda[j] = b.clip(j, lambda[j]+float64(eta[j]*(g+float64(c.p.Proportional*change))))
	}
	return nil
}

func (c *controller) fields(f *wire.Fields) {
	f.Float64s(c.smooth)
	c.gains.fields(f)
}

func (c *controller) AppendBinary(data []byte) ([]byte, error) {
	return wire.AppendFields(data, c.fields)
}

func (c *controller) UnmarshalBinary(data []byte) error { return wire.ReadFields(data, c.fields) }

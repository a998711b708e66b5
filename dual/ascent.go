package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Ascent is projected dual ascent,
//
//	λ ← clip(λ + η_t ḡ, 0, max),
//
// the rule of Hadou, Uslu and Ribeiro 2026. A Step is in units of λ per unit of
// g and must suit the problem. Without one every multiplier has a step of its
// own, η_tj = β/(v_j·√(1+t)), v_j the mean variance of g_j over earlier batches:
// the diagonal of Newton's method, invariant to the units of g.
type Ascent struct {
	Step Schedule // η_t; nil means β/(v_j·√(1+t))
}

// Bind implements [Rule].
func (a Ascent) Bind(_ context.Context, n int) (Updater, error) {
	if err := check.Entries("dual: Ascent", "n", n); err != nil {
		return nil, err
	}
	return &ascent{newGains("Ascent", a.Step, n)}, nil
}

type ascent struct{ gains }

func (a *ascent) Update(lambda []float64, b *Batch) error {
	eta, err := a.next(b, b.Step)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		lambda[j] = b.clip(j, lambda[j]+float64(eta[j]*g))
	}
	return nil
}

// Extragradient is ascent by the gradient at a point ahead (Korpelevich 1976),
//
//	λ' = clip(λ + η_t ḡ(λ), 0, max),   λ ← clip(λ + η_t ḡ(λ'), 0, max),
//
// two dual steps each, the first of which the second takes back: slower than
// ascent where that works, and steady at step sizes where ascent oscillates.
type Extragradient struct {
	Step Schedule // as of [Ascent]
}

// Bind implements [Rule].
func (e Extragradient) Bind(_ context.Context, n int) (Updater, error) {
	if err := check.Entries("dual: Extragradient", "n", n); err != nil {
		return nil, err
	}
	return &extragradient{gains: newGains("Extragradient", e.Step, n), from: make([]float64, n+1)}, nil
}

type extragradient struct {
	gains
	from []float64 // λ before the step ahead, and 1 if λ is ahead
}

func (e *extragradient) Update(lambda []float64, b *Batch) error {
	eta, err := e.next(b, b.Step/2)
	if err != nil {
		return err
	}
	n := len(lambda)
	ahead := &e.from[n]
	if *ahead == 0 {
		copy(e.from, lambda)
	}
	*ahead = 1 - *ahead
	for j, g := range b.Mean {
		lambda[j] = b.clip(j, e.from[j]+float64(eta[j]*g))
	}
	return nil
}

func (e *extragradient) AppendBinary(data []byte) ([]byte, error) {
	return e.gains.AppendBinary(wire.AppendFloat64s(data, e.from))
}

func (e *extragradient) UnmarshalBinary(data []byte) error {
	data, err := wire.ReadFloat64s(data, e.from)
	if err != nil {
		return err
	}
	return e.gains.UnmarshalBinary(data)
}

// AdaGrad is ascent whose steps shrink with the gradients met (Duchi, Hazan and
// Singer 2011),
//
//	λ_j ← clip(λ_j + Rate·(β/sd_j)·ḡ_j/√Σ ḡ_j², 0, max),
//
// the sum over all steps so far, sd_j² the mean variance of g_j over earlier
// batches. It is invariant to the units of g, and O(n) in time and memory for n
// multipliers: the default from 2000 on, where the covariance of [Auto] is too
// large.
type AdaGrad struct {
	Rate float64 // 0 means 1
}

// Bind implements [Rule]. It returns an error if the rate is out of range.
func (a AdaGrad) Bind(_ context.Context, n int) (Updater, error) {
	if err := check.Entries("dual: AdaGrad", "n", n); err != nil {
		return nil, err
	}
	if a.Rate == 0 {
		a.Rate = 1
	}
	if !(a.Rate > 0) || !check.Finite(a.Rate) {
		return nil, fmt.Errorf("dual: AdaGrad: Rate = %v, want a finite number ≥ 0", a.Rate)
	}
	return &adagrad{gains: newGains("AdaGrad", nil, n), rate: a.Rate, squares: make([]float64, n)}, nil
}

type adagrad struct {
	gains
	rate    float64
	squares []float64 // Σ ḡ²
}

func (a *adagrad) Update(lambda []float64, b *Batch) error {
	v, err := a.variances(b)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		a.squares[j] += float64(g * g)
		if a.squares[j] > 0 && v[j] > 0 {
			eta := a.rate * b.Beta / math.Sqrt(v[j]) / math.Sqrt(a.squares[j])
			lambda[j] = b.clip(j, lambda[j]+float64(eta*g))
		}
	}
	return nil
}

func (a *adagrad) AppendBinary(data []byte) ([]byte, error) {
	return a.gains.AppendBinary(wire.AppendFloat64s(data, a.squares))
}

func (a *adagrad) UnmarshalBinary(data []byte) error {
	data, err := wire.ReadFloat64s(data, a.squares)
	if err != nil {
		return err
	}
	return a.gains.UnmarshalBinary(data)
}

package dual

import (
	"context"
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
	if err := checkCount("Ascent", n); err != nil {
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

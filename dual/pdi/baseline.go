package pdi

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Guided is a baseline for comparisons. It is a denoiser that moves each prediction by one gradient
// step, which reduces a penalty on violations:
//
//	x̂_0 ← x̂_0 − w·∇ ½Σ_j max(0, g_j(x̂_0))².
//
// Here x̂_0 is the prediction for a sample, w is the step size, and g_j ≤ 0 are the constraints.
// The method is diffusion posterior sampling (Chung et al. 2023) without the derivative of the
// denoiser. Guided guarantees neither average nor hard constraints.
type Guided struct {
	Base   energy.Denoiser[float32]
	Terms  []energy.Scored // functions g_j of the constraints g_j ≤ 0
	Weight float64         // size w ≥ 0 of the gradient step
}

// Shape returns the numbers of sites and levels of Base.
func (d Guided) Shape() (sites, levels int) {
	check.Must("pdi: Guided", "Base", d.Base)
	return d.Base.Shape()
}

// Denoise stores in v the predictions of Base after the gradient step; it implements
// energy.Denoiser.
func (d Guided) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := check.Given("pdi: Guided", "Base", d.Base); err != nil {
		return err
	}
	if err := d.Base.Denoise(ctx, v, q); err != nil {
		return err
	}
	n, _ := d.Base.Shape()
	s, e, sum := make([]float32, len(v)), make([]float64, len(v)/n), make([]float64, len(v))
	for j, t := range d.Terms {
		if err := check.Given("pdi: Guided", fmt.Sprintf("Terms[%d]", j), t); err != nil {
			return err
		}
		if t.Sites() != n {
			return fmt.Errorf("pdi: Guided: term %d has %d sites, want %d", j, t.Sites(), n)
		}
		t.Energy(e, v)
		t.Score(s, v)
		for at, g := range s {
			sum[at] += float64(d.Weight * float64(max(0, e[at/n])*float64(g))) // the score is −∇g
		}
	}
	for at, move := range sum {
		v[at] = float32(float64(v[at]) + move)
	}
	return nil
}

// Projected is a baseline for comparisons: projected diffusion. It projects each prediction of Base
// onto the set where the constraints hold. Every single sample then satisfies the constraints, not
// only the mean.
type Projected struct {
	Base energy.Denoiser[float32]
	// Onto projects one sample, in place, onto the set of samples that satisfy the constraints.
	Onto func(x []float32)
}

// Shape returns the numbers of sites and levels of Base.
func (d Projected) Shape() (sites, levels int) {
	check.Must("pdi: Projected", "Base", d.Base)
	return d.Base.Shape()
}

// Denoise stores in v the projected predictions of Base; it implements energy.Denoiser.
func (d Projected) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := check.Given("pdi: Projected", "Base", d.Base); err != nil {
		return err
	}
	if err := check.Given("pdi: Projected", "Onto", d.Onto); err != nil {
		return err
	}
	if err := d.Base.Denoise(ctx, v, q); err != nil {
		return err
	}
	n, _ := d.Base.Shape()
	for at := 0; at < len(v); at += n {
		d.Onto(v[at : at+n])
	}
	return nil
}

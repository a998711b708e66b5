package pdi

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Projected is the projected-diffusion baseline: the predictions of Base, each
// projected onto the set of samples that meet the constraints one by one.
type Projected struct {
	Base energy.Denoiser[float32]
	Onto func(x []float32) // in place
}

// Shape returns the shape of Base.
func (d Projected) Shape() (sites, levels int) {
	check.Must("pdi: Projected", "Base", d.Base)
	return d.Base.Shape()
}

// Denoise implements energy.Denoiser.
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

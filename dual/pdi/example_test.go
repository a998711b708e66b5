package pdi_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// A mixture whose first coordinate must be 0.5 or more on average, met while
// a diffusion runs.
func ExampleDenoiser() {
	ctx := context.Background()
	base, err := continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3})
	if err != nil {
		fmt.Println(err)
		return
	}
	atLeast, err := continuous.NewLinear([]float64{-1, 0}, 0.5) // 0.5 − x_0 ≤ 0
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		fmt.Println(err)
		return
	}
	primalDual, err := pdi.New(context.Background(), p, pdi.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := diffusion.New(context.Background(), primalDual, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}),
		diffusion.Config{Steps: 300, Batch: 1000, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float32, 2*1000)
	if err := d.Sample(ctx, x); err != nil {
		fmt.Println(err)
		return
	}
	mean := 0.0
	for s := range 1000 {
		mean += float64(x[2*s]) / 1000
	}
	star, err := p.Solve(ctx)
	fmt.Printf("mean %.2f, λ* = %.3f %v\n", mean, star.Lambda[0], err)
	// Output: mean 0.50, λ* = 0.361 <nil>
}

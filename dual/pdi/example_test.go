package pdi_test

import (
	"context"
	"fmt"
	"log"

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

// What the multipliers of a run come to: those of the last tenth of the steps hardly count,
// and all of them, so weighted, are 1.07. λ* is 1, but a diffusion of 100 steps moves a mean
// by 0.93 of what it should.
func ExampleDenoiser_Stability() {
	ctx := context.Background()
	base, err := continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	atLeast, err := continuous.NewLinear([]float64{-1}, 1) // 1 − x ≤ 0: N(λ, 1) has the mean 1
	if err != nil {
		log.Fatal(err)
	}
	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	primalDual, err := pdi.New(ctx, p, pdi.Config{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := diffusion.New(ctx, primalDual, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Schedule: noise.CosineBar{}}), diffusion.Config{Steps: 100, Batch: 1000, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Sample(ctx, make([]float32, 1000)); err != nil {
		log.Fatal(err)
	}
	factors, err := primalDual.Stability(1)
	if err != nil {
		log.Fatal(err)
	}
	last := 0.0
	for _, w := range factors[90:] {
		last += w
	}
	tilt, err := primalDual.Tilt(1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("last tenth %.2f, λ = %.2f\n", last, tilt)
	// Output: last tenth 0.03, λ = [1.07]
}

package unlearn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// A diffusion of standard normal numbers moves away from those with mean 1, until the path
// divergence is 2 nats. The optimum has the mean −λ/(1−λ) = −1.
func ExampleRealErasure() {
	ctx := context.Background()
	var d [2]energy.Denoiser[float32]
	for i := range d {
		var err error
		if d[i], err = denoise.NewGaussian([]float64{float64(i)}, []float64{1}); err != nil {
			log.Fatal(err)
		}
	}
	e, err := unlearn.NewRealErasure(d[0], d[1:], []float64{2})
	if err != nil {
		log.Fatal(err)
	}
	s, err := diffusion.New(ctx, energy.Denoiser[float32](e), diffusion.Process[float32](diffusion.Gaussian{Eta: 1}),
		diffusion.Config{Steps: 200, Batch: 64, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	p, err := dual.NewResampler(1, 64, s.Sample)
	if err != nil {
		log.Fatal(err)
	}
	inf, err := dual.NewInference(ctx, e, p, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.05)}, Max: new(0.9)})
	if err != nil {
		log.Fatal(err)
	}
	if err := inf.Run(ctx, 100); err != nil {
		log.Fatal(err)
	}
	mean := 0.0
	for _, v := range p.States() {
		mean += float64(v) / 64
	}
	fmt.Printf("λ = %.1f, mean %.0f\n", inf.Average()[0], mean)
	// Output: λ = 0.5, mean -1
}

package unlearn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// words is the exact denoiser of words of four letters, 0 or 1, that are independent.
func words(preference float64) energy.Denoiser[int32] {
	m := energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 {
		return -preference * float64(x[0]+x[1]+x[2]+x[3])
	}}
	d, err := denoise.NewTable(m, denoise.Absorbing)
	if err != nil {
		log.Fatal(err)
	}
	return d
}

// A masked diffusion of words whose letters are equally likely moves away from one that
// prefers 1, until the path divergence is 1.5 nats.
func ExampleErasure() {
	ctx := context.Background()
	e, err := unlearn.NewErasure(words(0), []energy.Denoiser[int32]{words(1)}, []float64{1.5},
		unlearn.ErasureConfig{Mask: 2})
	if err != nil {
		log.Fatal(err)
	}
	d, err := diffusion.New(ctx, energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 2, FirstHitting: true}),
		diffusion.Config{Batch: 256, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	p, err := dual.NewResampler(4, 256, d.Sample)
	if err != nil {
		log.Fatal(err)
	}
	inf, err := dual.NewInference(context.Background(), e, p, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.05)}, Max: new(0.9)})
	if err != nil {
		log.Fatal(err)
	}
	if err := inf.Run(ctx, 200); err != nil {
		log.Fatal(err)
	}
	ones := 0
	for _, letter := range p.States() {
		ones += int(letter)
	}
	fmt.Printf("λ = %.2f, divergence %.2f, %.0f %% of the letters are 1\n",
		inf.Average()[0], 1.5-inf.Certificate().Violation[0], 100*float64(ones)/1024)
	// Output: λ = 0.44, divergence 1.50, 29 % of the letters are 1
}

// Four particles for each sample that is wanted, of which the weights choose: the
// divergence is now that of what is sampled, and Auto finds λ.
func ExampleErasure_Terminal() {
	ctx := context.Background()
	e, err := unlearn.NewErasure(words(0), []energy.Denoiser[int32]{words(1)}, []float64{1.5},
		unlearn.ErasureConfig{Mask: 2})
	if err != nil {
		log.Fatal(err)
	}
	d, err := diffusion.New(ctx, energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 2, FirstHitting: true}),
		diffusion.Config{Batch: 256, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	p, err := dual.NewResampler(4, 256, e.Terminal(d.Sample, 4, sampler.NewStream(2, 0)))
	if err != nil {
		log.Fatal(err)
	}
	inf, err := dual.NewInference(ctx, e, p, dual.Config{Max: new(0.9)})
	if err != nil {
		log.Fatal(err)
	}
	if err := inf.Run(ctx, 40); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ = %.2f, divergence %.2f, more than half of 1024 particles count: %t\n",
		inf.Average()[0], 1.5-inf.Certificate().Violation[0], e.Effective() > 512)
	// Output:
	// λ = 0.43, divergence 1.50, more than half of 1024 particles count: true
}

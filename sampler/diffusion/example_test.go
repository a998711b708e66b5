package diffusion_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// sticky is a chain of two tokens that prefers to stay: 90 % of the time.
func sticky(sites int) *denoise.Markov {
	m, err := model.NewMarkov(sites, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMarkov(m, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	return d
}

// Masked diffusion reveals one token after the other; its samples follow the
// law of the denoiser exactly.
func ExampleRunner() {
	d, err := diffusion.New(context.Background(), sticky(24), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 3*24)
	if err := d.Sample(context.Background(), x); err != nil {
		fmt.Println(err)
	}
	for s := range 3 {
		fmt.Println(x[s*24 : (s+1)*24])
	}
	// Output:
	// [1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]
	// [0 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0]
	// [0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]
}

// Given tokens stay as they are, here the first and the last of a sequence.
func ExampleRunner_Fill() {
	d, err := diffusion.New(context.Background(), sticky(12), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []int32{0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1}
	if err := d.Fill(context.Background(), x); err != nil {
		fmt.Println(err)
	}
	fmt.Println(x)
	// Output: [0 0 0 0 0 0 0 1 1 1 1 1]
}

// Every sample has exactly six ones. Particles weigh samples as the chain does,
// and estimate how likely six ones are.
func ExampleParticles() {
	p, err := diffusion.NewParticles(context.Background(), sticky(12), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.ParticlesConfig{
		Config: diffusion.Config{
			Seed:      3,
			Projector: projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 6, Max: 6}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 100*12)
	if err := p.Sample(context.Background(), x); err != nil {
		fmt.Println(err)
	}
	changes := 0
	for s := 0; s < len(x); s += 12 {
		ones := 0
		for i := s; i < s+12; i++ {
			ones += int(x[i])
			if i > s && x[i] != x[i-1] {
				changes++
			}
		}
		if ones != 6 {
			fmt.Println("not six ones")
		}
	}
	logP, _ := p.LogProb()
	fmt.Printf("P(six ones) ≈ %.3f, %.1f changes per sequence\n", math.Exp(logP), float64(changes)/100)
	// Output: P(six ones) ≈ 0.069, 1.8 changes per sequence
}

// With few particles and a narrow condition one particle soon has all the weight of its
// sample, and one sample most of the estimate.
func ExampleParticles_Effective() {
	first := diffusion.Weights{Step: -1} // the first resampling of the first sample
	p, err := diffusion.NewParticles(context.Background(), sticky(12), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.ParticlesConfig{
		Config: diffusion.Config{
			Seed: 3, Workers: 1,
			Projector: projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 6, Max: 6}},
		},
		Particles: 8,
		Weighed: func(w diffusion.Weights) {
			if w.Resampled && w.Sample == 0 && first.Step < 0 {
				first = w
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := p.Sample(context.Background(), make([]int32, 100*12)); err != nil {
		fmt.Println(err)
	}
	particles, samples := p.Effective()
	fmt.Printf("step %d: %.1f of 8 particles\n", first.Step, first.Effective)
	fmt.Printf("%.1f of 8 particles at worst, %.0f of 100 samples\n", particles, samples)
	// Output:
	// step 2: 3.3 of 8 particles
	// 1.9 of 8 particles at worst, 78 of 100 samples
}

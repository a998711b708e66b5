package diffusion_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// changes draws 400 sequences of 12 tokens and returns how often neighbours
// differ, per sequence.
func changes(m energy.Denoiser[int32], p diffusion.Process[int32], steps int) float64 {
	d, err := diffusion.New(context.Background(), m, p, diffusion.Config{Steps: steps, Seed: 1})
	if err != nil {
		panic(err)
	}
	const n, sites = 400, 12
	x := make([]int32, n*sites)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	count := 0
	for i, l := range x {
		if i%sites > 0 && l != x[i-1] {
			count++
		}
	}
	return float64(count) / n
}

// A chain of twelve tokens changes 1.1 times on average. Tokens that are revealed
// in the same step do not know of each other, so few steps change too often;
// FirstHitting reveals one at a time.
func ExampleMasked() {
	for _, steps := range []int{2, 8, 32} {
		fmt.Printf("%d steps: %.1f changes\n", steps, changes(sticky(12), diffusion.Masked{Mask: 2}, steps))
	}
	fmt.Printf("first hitting: %.1f changes\n", changes(sticky(12), diffusion.Masked{Mask: 2, FirstHitting: true}, 0))
	// Output:
	// 2 steps: 3.3 changes
	// 8 steps: 1.7 changes
	// 32 steps: 1.2 changes
	// first hitting: 1.1 changes
}

// Tokens of which the denoiser was least sure are masked again and corrected: at
// the same number of steps fewer of them contradict their neighbours.
func ExampleRemask() {
	remask := diffusion.Remask{Mask: 2, Rule: diffusion.RemaskConfidence, Eta: 0.1}
	fmt.Printf("masked:   %.2f changes\n", changes(sticky(12), diffusion.Masked{Mask: 2}, 32))
	fmt.Printf("remasked: %.2f changes\n", changes(sticky(12), remask, 32))
	// Output:
	// masked:   1.21 changes
	// remasked: 1.09 changes
}

// Decoding in the order of confidence favours what is likely: it is no sampler.
func ExampleOrdered() {
	fmt.Printf("most confident first: %.1f changes\n", changes(sticky(12), diffusion.Ordered{Mask: 2}, 12))
	fmt.Printf("greedy: %.1f changes\n", changes(sticky(12), diffusion.Ordered{Mask: 2, Greedy: true}, 12))
	// Output:
	// most confident first: 0.1 changes
	// greedy: 0.0 changes
}

// Under uniform corruption there is no mask, and every token may change in every
// step.
func ExampleUniform() {
	m, err := model.NewMarkov(12, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	if err != nil {
		fmt.Println(err)
		return
	}
	noisy, err := denoise.NewMarkov(m, denoise.Noisy)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, steps := range []int{4, 64} {
		fmt.Printf("%d steps: %.1f changes\n", steps, changes(noisy, diffusion.Uniform{}, steps))
	}
	// Output:
	// 4 steps: 2.0 changes
	// 64 steps: 1.0 changes
}

// Guidance by a penalty comes near the set x_0 + x_1 ≤ −1, but not into it.
func ExamplePenalised() {
	ctx := context.Background()
	m, err := denoise.NewGaussian([]float64{0, 0}, []float64{1, 0, 0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	set := constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{math.Inf(-1)}, Upper: []float64{-1}}
	for _, weight := range []float64{0.01, 0.1} {
		d, err := diffusion.New(ctx, m, diffusion.Penalised{Set: set, Weight: weight}, diffusion.Config{Steps: 50, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		x := make([]float32, 1000*2)
		if err := d.Sample(ctx, x); err != nil {
			fmt.Println(err)
			return
		}
		mean, _ := distance.Violation(set, x, 2)
		fmt.Printf("weight %v: %.2f above the limit on average\n", weight, mean)
	}
	// Output:
	// weight 0.01: 0.20 above the limit on average
	// weight 0.1: 0.00 above the limit on average
}

// With few steps, samples of a wide distribution have too little spread. Langevin moves correct most
// of it.
func ExampleCorrected() {
	ctx := context.Background()
	m, err := denoise.NewGaussian([]float64{0}, []float64{9})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range []diffusion.Process[float32]{diffusion.Gaussian{}, diffusion.Corrected{Moves: 16}} {
		d, err := diffusion.New(ctx, m, p, diffusion.Config{Steps: 8, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		x := make([]float32, 5000)
		if err := d.Sample(ctx, x); err != nil {
			fmt.Println(err)
			return
		}
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		fmt.Printf("standard deviation %.1f, want 3.0\n", math.Sqrt(sum/5000))
	}
	// Output:
	// standard deviation 2.5, want 3.0
	// standard deviation 2.8, want 3.0
}

// A run shows its steps to an observer.
func ExampleSnapshot() {
	ctx := context.Background()
	d, err := diffusion.New(ctx, sticky(8), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{
		Seed: 4,
		Observe: func(s *diffusion.Snapshot) {
			fmt.Printf("step %d, time %.2f to %.2f: %v\n", s.Step, s.From, s.To, s.X)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := d.Sample(ctx, make([]int32, 8)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// step 0, time 1.00 to 0.98: [2 2 2 2 2 2 1 2]
	// step 1, time 0.98 to 0.91: [2 0 2 2 2 2 1 2]
	// step 2, time 0.91 to 0.85: [2 0 2 1 2 2 1 2]
	// step 3, time 0.85 to 0.80: [2 0 2 1 1 2 1 2]
	// step 4, time 0.80 to 0.66: [2 0 0 1 1 2 1 2]
	// step 5, time 0.66 to 0.28: [0 0 0 1 1 2 1 2]
	// step 6, time 0.28 to 0.23: [0 0 0 1 1 2 1 1]
	// step 7, time 0.23 to 0.00: [0 0 0 1 1 1 1 1]
}

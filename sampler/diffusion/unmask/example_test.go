package unmask_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// weather is a chain of twelve days, dry (0) or wet (1), in spells; 2 is the mask.
func weather() *denoise.Markov {
	m, err := model.NewMarkov(12, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMarkov(m, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	return d
}

// sample draws n series and returns how often neighbours differ, per series, and
// the states that the denoiser was asked for, per series.
func sample(p diffusion.Process[int32], steps, n int) (changes, predictions float64) {
	m, err := denoise.NewMetered(weather(), 2, 0)
	if err != nil {
		panic(err)
	}
	d, err := diffusion.New(context.Background(), m, p, diffusion.Config{Steps: steps, Seed: 1})
	if err != nil {
		panic(err)
	}
	x := make([]int32, n*12)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	for i, l := range x {
		if i%12 > 0 && l != x[i-1] {
			changes++
		}
	}
	return changes / float64(n), float64(m.Cost().Rows) / float64(n)
}

// The chain changes 1.1 times on average. Sites of which the prediction is sure
// are shown together.
func ExampleEntropyBound() {
	for _, bound := range []float64{0, 0.5, 2} {
		changes, predictions := sample(unmask.EntropyBound{Mask: 2, Bound: bound}, 0, 400)
		fmt.Printf("bound %v: %.2f changes, %.1f predictions\n", bound, changes, predictions)
	}
	// Output:
	// bound 0: 1.10 changes, 12.0 predictions
	// bound 0.5: 1.91 changes, 7.0 predictions
	// bound 2: 3.57 changes, 4.0 predictions
}

// Output that is likely is not a sample: it hardly changes.
func ExampleThreshold() {
	changes, predictions := sample(unmask.Threshold{Mask: 2}, 0, 400)
	fmt.Printf("%.2f changes, %.1f predictions\n", changes, predictions)
	// Output:
	// 0.11 changes, 11.3 predictions
}

// A planner that ranks sites by how far to the left they are decodes from left to
// right.
func ExamplePlanned() {
	changes, predictions := sample(unmask.Planned{Mask: 2, Planner: leftFirst{}}, 12, 400)
	fmt.Printf("%.2f changes, %.1f predictions\n", changes, predictions)
	// Output:
	// 1.10 changes, 12.0 predictions
}

type leftFirst struct{}

func (leftFirst) Plan(score []float64, _, _ []int32, _ []float32) {
	for i := range score {
		score[i] = -float64(i)
	}
}

// Blocks of four sites, two steps each.
func ExampleBlocks() {
	changes, predictions := sample(unmask.Blocks{Mask: 2, Size: 4, Steps: 2}, 0, 400)
	fmt.Printf("%.2f changes, %.1f predictions\n", changes, predictions)
	// Output:
	// 1.92 changes, 6.0 predictions
}

// The pace of four steps that loses least, from the information curve of the
// denoiser's own samples, against an even pace.
func ExampleScheduled() {
	ctx := context.Background()
	d, err := diffusion.New(ctx, weather(), unmask.Scheduled{Mask: 2}, diffusion.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 300*12)
	if err := d.Sample(ctx, x); err != nil {
		fmt.Println(err)
		return
	}
	curve, err := unmask.Information(ctx, weather(), 2, x, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, kl, err := curve.Plan(4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("planned %v: %.2f nats\n", best, kl)
	fmt.Printf("even [3 3 3 3]: %.2f nats\n", curve.Divergence([]int{3, 3, 3, 3}))
	// Output:
	// planned [2 3 3 4]: 0.49 nats
	// even [3 3 3 3]: 0.61 nats
}

// Series with exactly six wet days, from the chain given that: independent, with a
// bound on what is wrong, and the probability of the condition.
func ExampleRejection() {
	ctx := context.Background()
	six := projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 6, Max: 6}}
	r, err := unmask.NewRejection(ctx, weather(), diffusion.Masked{Mask: 2, FirstHitting: true}, unmask.RejectionConfig{
		Config: unmask.Config{Seed: 1, Projector: six},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 100*12)
	var heavy *unmask.ExcessError // weights too unequal for what was asked
	if err := r.Sample(ctx, x); errors.As(err, &heavy) {
		fmt.Println("wrong by up to", heavy.Excess)
	} else if err != nil {
		fmt.Println(err)
		return
	}
	logP, _ := r.LogProb()
	fmt.Println(x[:12])
	fmt.Printf("P(C) ≈ %.2f, wrong by less than 0.002: %v\n", math.Exp(logP), r.Excess() < 0.002)
	// Output:
	// [0 0 0 0 1 1 1 1 1 1 0 0]
	// P(C) ≈ 0.07, wrong by less than 0.002: true
}

// The same by walks that take back what turns out unlikely.
func ExampleBacktrack() {
	ctx := context.Background()
	six := projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 6, Max: 6}}
	b, err := unmask.NewBacktrack(ctx, weather(), unmask.BacktrackConfig{
		Config: unmask.Config{Seed: 1, Projector: six}, Mask: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 2*12)
	if err := b.Sample(ctx, x); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x[:12])
	fmt.Println(x[12:])
	// Output:
	// [0 0 0 0 0 1 1 1 1 0 1 1]
	// [0 0 0 1 1 1 1 1 1 0 0 0]
}

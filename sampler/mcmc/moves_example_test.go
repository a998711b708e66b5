package mcmc_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func ExampleHammingBall() {
	// Exactly two of six sites are up: no single flip keeps that, pairs do.
	m := energy.Func{Sites: 6, Levels: 2, E: func(x []int32) float64 {
		up, e := int32(0), 0.0
		for i, l := range x {
			up += l
			e -= 0.3 * float64(int32(i)*l)
		}
		if up != 2 {
			return math.Inf(1)
		}
		return e
	}}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.HammingBall{Block: 6, Radius: 1}, sampler.Config{Chains: 16, Seed: 1, Init: []int32{1, 1, 0, 0, 0, 0}})
	if err != nil {
		log.Fatal(err)
	}
	last := 0
	for x := range ch.Draws(context.Background(), 2000) {
		for s := 5; s < len(x); s += 6 {
			last += int(x[s])
		}
	}
	if ch.Err() != nil {
		log.Fatal(ch.Err())
	}
	fmt.Printf("P(last site up) = %.2f\n", float64(last)/32000)
	// Output: P(last site up) = 0.54
}

func ExampleLocallyBalanced() {
	// Two sites that want to be equal, levels 0 … 2.
	m := energy.Func{Sites: 2, Levels: 3, E: func(x []int32) float64 { return math.Abs(float64(x[0] - x[1])) }}
	equal := 0
	ch, err := sampler.NewChains(context.Background(), m, mcmc.LocallyBalanced{Balance: mcmc.Barker}, sampler.Config{Chains: 8, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for x := range ch.Draws(context.Background(), 4000) {
		for s := 0; s < len(x); s += 2 {
			if x[s] == x[s+1] {
				equal++
			}
		}
	}
	z := 3 + 4*math.Exp(-1) + 2*math.Exp(-2)
	fmt.Printf("P(equal) = %.2f, exactly %.2f\n", float64(equal)/32000, 3/z)
	// Output: P(equal) = 0.64, exactly 0.63
}

func ExamplePaths() {
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.1, 0)
	if err != nil {
		log.Fatal(err)
	}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Paths{Length: 4}, sampler.Config{Chains: 8, Seed: 1, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f spins change per step\n", ch.Stats().Moved)
	// Output: 3.7 spins change per step
}

func ExampleDLMC() {
	m, err := model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2)
	if err != nil {
		log.Fatal(err)
	}
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, mcmc.DLMC{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean spin %.2f\n", mag.Summary().Rows[0].Mean.Value)
	// Output: mean spin 0.48
}

func ExampleDMAPS() {
	// Forty spins, all coupled to each other: a Curie–Weiss model.
	m := energy.Func{Sites: 40, Levels: 2, E: func(x []int32) float64 {
		sum := 0.0
		for _, l := range x {
			sum += float64(2*l - 1)
		}
		return -0.7*sum*sum/80 - 0.1*sum
	}}
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, mcmc.DMAPS{}, sampler.Config{Chains: 32, Seed: 1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean spin %.2f\n", mag.Summary().Rows[0].Mean.Value)
	// Output: mean spin 0.27
}

func ExampleDUPS() {
	// Where sites are independent there is no error, however large the step.
	m, err := model.NewIndependent([]float64{0, 1, 0, -1, 0, 2}, 2)
	if err != nil {
		log.Fatal(err)
	}
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, mcmc.DUPS{StepSize: 5}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	exactly := (math.Tanh(0.5) - math.Tanh(0.5) + math.Tanh(1)) / 3
	fmt.Printf("mean spin %.2f, exactly %.2f\n", mag.Summary().Rows[0].Mean.Value, exactly)
	// Output: mean spin 0.25, exactly 0.25
}

package mcmc_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// ring is an Ising ring of ten spins; small enough that every kernel below is
// shown next to its exact mean.
func ring() *model.Ising {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		panic(err)
	}
	return m
}

// sampled prints whether the mean spin of a run is within four standard errors
// of the exact one.
func sampled(m energy.Model, method sampler.Method) {
	ctx := context.Background()
	trace := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 32, Seed: 1, Warmup: 200, Observe: trace.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		panic(err)
	}
	exact, err := energy.Enumerate(ctx, m, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	row := trace.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Printf("exact %.3f, agrees: %t\n", exact.Means[0], off < 4*row.MCSE.Value)
}

func ExampleDMALA() {
	sampled(ring(), mcmc.DMALA{})              // tunes its step size
	sampled(ring(), mcmc.DMALA{StepSize: 0.5}) // keeps this one
	// Output:
	// exact 0.180, agrees: true
	// exact 0.180, agrees: true
}

func ExampleGibbs() {
	sampled(ring(), mcmc.Gibbs{})
	sampled(ring(), mcmc.Gibbs{Scan: mcmc.Chromatic})
	// Output:
	// exact 0.180, agrees: true
	// exact 0.180, agrees: true
}

func ExampleMetropolis() {
	sampled(ring(), mcmc.Metropolis{})
	// Output: exact 0.180, agrees: true
}

func ExampleGWG() {
	sampled(ring(), mcmc.GWG{})
	// Output: exact 0.180, agrees: true
}

// DULA never rejects. Its bias falls with the step size, and so does its speed.
func ExampleDULA() {
	ctx := context.Background()
	for _, alpha := range []float64{0.4, 0.1} {
		trace := diagnose.NewTrace(energy.Magnetization)
		ch, err := sampler.NewChains(context.Background(), ring(), mcmc.DULA{StepSize: alpha}, sampler.Config{Chains: 32, Seed: 1, Observe: trace.Observe})
		if err != nil {
			panic(err)
		}
		if err := ch.Run(ctx, 20000); err != nil {
			panic(err)
		}
		fmt.Printf("step size %v: mean %.2f of 0.18\n", alpha, trace.Summary().Rows[0].Mean.Value)
	}
	// Output:
	// step size 0.4: mean 0.12 of 0.18
	// step size 0.1: mean 0.17 of 0.18
}

// Hidden and visible units of a restricted Boltzmann machine take turns.
func ExampleBlockGibbs() {
	w := []float32{
		1, -1, 0.5, // hidden unit 0
		-0.5, 2, 1, // hidden unit 1
	}
	m, err := model.NewRBM(w, []float32{0.2, -0.3}, []float32{0.1, 0, -0.2})
	if err != nil {
		panic(err)
	}
	sampled(m, mcmc.BlockGibbs{})
	// Any model will do with blocks of sites that are enumerated.
	sampled(ring(), mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}})
	// Output:
	// exact 0.306, agrees: true
	// exact 0.180, agrees: true
}

package mcmc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Spins on a torus with the magnetisation held at zero.
func ExampleDMALA_within() {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	half := constraint.Count{Levels: []int32{1}, Min: 8, Max: 8}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{Within: half}, sampler.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	off := 0
	for x := range ch.Draws(context.Background(), 100) {
		for s := 0; s < len(x); s += 16 {
			if energy.Magnetization(x[s:s+16]) != 0 {
				off++
			}
		}
	}
	fmt.Println("states off zero magnetisation:", off)
	// Output: states off zero magnetisation: 0
}

// Spins on a torus whose magnetisation stays zero, by exchanges of two spins.
func ExampleSwap() {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	half := constraint.Count{Levels: []int32{1}, Min: 8, Max: 8}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Swap{Within: half, Updates: 32}, sampler.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 100); err != nil {
		log.Fatal(err)
	}
	fmt.Println(energy.Magnetization(ch.States()[:16]))
	// Output: 0
}

// Of eight items exactly three are chosen, item i with a utility of i/4: no
// single site can change, but two can.
func ExamplePairGibbs() {
	choice := energy.Func{Sites: 8, Levels: 2, E: func(x []int32) float64 {
		utility := 0.0
		for i, chosen := range x {
			utility += 0.25 * float64(i) * float64(chosen)
		}
		return -utility
	}}
	three := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	ch, err := sampler.NewChains(context.Background(), choice, mcmc.PairGibbs{Within: three}, sampler.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for x := range ch.Draws(context.Background(), 3) {
		fmt.Println(x[:8])
	}
	// Output:
	// [0 0 1 0 0 1 1 0]
	// [0 0 0 1 1 0 1 0]
	// [0 0 0 1 1 0 0 1]
}

package mcmc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The ladder says whether replicas travel: all pairs of rungs should swap about
// equally often, and states should go from the cold end to the hot one and back.
func ExampleLadder() {
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.5, 0) // two modes, all up and all down
	if err != nil {
		log.Fatal(err)
	}
	ch, err := sampler.NewChains(m, mcmc.Tempering{Rungs: 5}, sampler.Config{Chains: 8, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	for _, l := range mcmc.Ladders(ch) { // one per block of chains
		fmt.Printf("betas %.2f\nswaps %.2f\n%d round trips of 8 chains\n", l.Betas, l.Swap, l.RoundTrips)
	}
	// Output:
	// betas [1.00 0.79 0.59 0.32 0.00]
	// swaps [0.37 0.32 0.33 0.33]
	// 179 round trips of 8 chains
}

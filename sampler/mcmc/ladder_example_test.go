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
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Tempering{Rungs: 5}, sampler.Config{Chains: 8, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	l := mcmc.Ladders(ch)[0] // one per block of chains
	fmt.Printf("betas %.2f\nswaps %.2f\n%d round trips of 2 chains\n", l.Betas, l.Swap, l.RoundTrips)
	// Output:
	// betas [1.00 0.77 0.58 0.31 0.00]
	// swaps [0.32 0.33 0.34 0.34]
	// 40 round trips of 2 chains
}

package mcmc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

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
	ch, err := sampler.NewChains(choice, mcmc.PairGibbs{Within: three}, sampler.Config{Seed: 1})
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

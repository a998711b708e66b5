package mcmc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func ExampleCyclical() {
	// Two modes, all down and all up, eight flips apart.
	m := energy.Func{Sites: 8, Levels: 2, E: func(x []int32) float64 {
		up := 0.0
		for _, l := range x {
			up += float64(l)
		}
		return -(up - 4) * (up - 4) / 2
	}}
	up := 0
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Cyclical{}, sampler.Config{Chains: 32, Seed: 1, Init: make([]int32, 8)})
	if err != nil {
		log.Fatal(err)
	}
	for x := range ch.Draws(context.Background(), 4000) {
		for s := 0; s < len(x); s += 8 {
			if energy.Magnetization(x[s:s+8]) > 0 {
				up++
			}
		}
	}
	fmt.Printf("in the upper mode %.0f %% of the time\n", 100*float64(up)/(32*4000))
	// Output: in the upper mode 50 % of the time
}

func ExampleTempering() {
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.55, 0) // below the critical temperature
	if err != nil {
		log.Fatal(err)
	}
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Tempering{Base: mcmc.Gibbs{}}, sampler.Config{Chains: 16, Seed: 1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	ladder := mcmc.Ladders(ch)[0]
	fmt.Printf("R-hat %.2f, coldest swaps %.1f, ladder crossed: %t\n", mag.Summary().Rows[0].RHat.Value, ladder.Swap[0], ladder.RoundTrips > 100)
	// Output: R-hat 1.01, coldest swaps 0.5, ladder crossed: true
}

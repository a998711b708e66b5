package diagnose_test

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

// Two parts of a run of 128 chains, which may run anywhere, and what they say together.
// Where the second is missing, the summary states it.
func ExampleTally() {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	var all diagnose.Tally
	for part := range 2 {
		cfg := sampler.Config{Chains: 128, Seed: 1, Warmup: 100}
		if cfg, err = cfg.Part(part, 2); err != nil {
			log.Fatal(err)
		}
		tally, err := diagnose.NewTally(diagnose.TallyConfig{
			Chains: cfg.Chains, First: cfg.First, Count: cfg.Count, Seed: cfg.Seed, Draws: 200,
		}, energy.Magnetization)
		if err != nil {
			log.Fatal(err)
		}
		cfg.Observe = tally.Name("m").Observe
		ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg)
		if err == nil {
			err = ch.Run(context.Background(), 200)
		}
		if err == nil {
			err = all.Merge(tally)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(all.Chains(), all.Missing())
	}
	s, err := all.Summary()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(s)
	// Output:
	// 64 diagnose: Tally: missing of 128 chains: 64 … 127
	// 128 <nil>
	// 128 chains × 200 draws, acceptance 1, 4.119 moves per step
	//
	//      Mean      MCSE  MCSE_chains  StdDev  ESS_mean  R_hat  R_hat_nested
	// m  0.1759  0.003668     0.003728  0.4151     12808  1.004         1.005
	//
	// Rank statistics (quantiles, bulk and tail ESS, rank-normalised R-hat) do not merge.
}

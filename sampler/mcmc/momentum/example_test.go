package momentum_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

func ExampleDHAMS() {
	// The 4×4 torus of Zhang, Liu and Liu 2022, whose mean spin is .480005.
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		log.Fatal(err)
	}
	mag, err := diagnose.Record(context.Background(), m, momentum.DHAMS{}, sampler.Config{Chains: 8, Seed: 1, Warmup: 200}, 800, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	row := mag.Summary().Rows[0]
	off := row.Mean.Value - 0.480005
	fmt.Printf("within 4 standard errors: %v\n", off < 4*row.MCSE.Value && -off < 4*row.MCSE.Value)
	// Output: within 4 standard errors: true
}

func ExamplePDHAMS() {
	// An Ising model is quadratic: with its curvature nothing is rejected.
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	least := 1.0
	chains, err := sampler.NewChains(context.Background(), m, momentum.PDHAMS{}, sampler.Config{
		Chains: 4, Seed: 1, Warmup: -1, Workers: 1,
		Observe: func(_, _ int, _ []int32, info *sampler.Info) { least = min(least, info.Accept) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := chains.Run(context.Background(), 200); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("least probability of acceptance: %.4f\n", least)
	// Output: least probability of acceptance: 1.0000
}

package auto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
)

func ExampleMethod() {
	// A lattice below its transition: changes of single sites hardly ever turn its
	// magnetisation over, clusters do in a few steps.
	m, err := model.NewPotts(model.Lattice{6, 6}, 3, 1.3, nil)
	if err != nil {
		log.Fatal(err)
	}
	chains, err := sampler.NewChains(context.Background(), m, auto.Method{}, sampler.Config{Chains: 64, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := chains.Run(context.Background(), 100); err != nil {
		log.Fatal(err)
	}
	for _, r := range auto.Reports(chains) {
		fmt.Println(r.Candidates[r.Chosen].Name)
	}
	// Output:
	// wolff
	// wolff
}

func ExampleReports() {
	// Candidates of one's own; what does not fit the model is named.
	m, err := model.NewPotts(model.Lattice{6, 6}, 3, 0.5, nil)
	if err != nil {
		log.Fatal(err)
	}
	method := auto.Method{Candidates: []sampler.Method{mcmc.BlockGibbs{}, mcmc.Gibbs{}, mcmc.GWG{}}}
	chains, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 64, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := chains.Run(context.Background(), 100); err != nil {
		log.Fatal(err)
	}
	r := auto.Reports(chains)[0]
	for i, c := range r.Candidates {
		fmt.Printf("%s, %T: fits %v, chosen %v\n", c.Name, c.Method, c.Left == "", i == r.Chosen)
	}
	// Output:
	// block-gibbs, mcmc.BlockGibbs: fits false, chosen false
	// gibbs, mcmc.Gibbs: fits true, chosen true
	// gwg, mcmc.GWG: fits true, chosen false
}

func ExampleCandidate() {
	c := auto.Candidate{Name: "gibbs", Steps: 100, Cost: 2000, Time: 5}
	fmt.Println(c.Rate(), "effective draws per counted second")
	// Output: 100000 effective draws per counted second
}

func ExampleReport() {
	r := auto.Report{Chosen: 1, Candidates: []auto.Candidate{
		{Name: "wolff", Left: "the field is not the same at all sites"},
		{Name: "gibbs", Steps: 100, Cost: 2000, Time: 5},
		{Name: "dmala", Steps: 100, Cost: 8000, Time: 10},
	}}
	fmt.Println(r.Candidates[r.Chosen].Name)
	fmt.Print(r)
	// Output:
	// gibbs
	//   wolff: not tried: the field is not the same at all sites
	// * gibbs: 1e+05 effective draws per counted second
	//   dmala: 1.25e+04 effective draws per counted second
}

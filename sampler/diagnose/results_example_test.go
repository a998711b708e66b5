package diagnose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// A trace in one line: chains, their draws and a summary.
func ExampleRecord() {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	mag, err := diagnose.Record(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	e, err := mag.Row("energy")
	fmt.Printf("%d chains × %d draws, energy %.1f %v\n", mag.Chains(), mag.Len(), e.Mean.Value, err)
	// Output: 4 chains × 1000 draws, energy -1.1 <nil>
}

func ExampleHistogram() {
	h, err := traced(500, energy.Magnetization).Histogram("f", 5)
	for k, n := range h.Counts {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%4.1f … %4.1f %s", h.Edges[k], h.Edges[k+1], strings.Repeat("*", n/50))))
	}
	fmt.Println(err)
	// Output:
	// -1.0 … -0.6
	// -0.6 … -0.2 ********
	// -0.2 …  0.2 ******
	// 0.2 …  0.6 *******************
	// 0.6 …  1.0 ****
	// <nil>
}

// The frequencies of levels, site by site, and the best state that was seen.
func ExampleMarginals() {
	m, err := model.NewPotts(model.Lattice{8}, 3, 1, []float64{0, 0.5, 0})
	if err != nil {
		log.Fatal(err)
	}
	tr := diagnose.NewTrace().KeepMarginals(3).KeepBest()
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 16, Seed: 1, Observe: tr.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	levels, err := tr.Marginals()
	for l := range levels.Levels {
		p, se := levels.At(0, l)
		fmt.Printf("level %d at site 0 of %d: %.2f, error below .01: %v %v\n", l, levels.Sites, p, se < 0.01, err)
	}
	fmt.Println(tr.Best())
	// Output:
	// level 0 at site 0 of 8: 0.20, error below .01: true <nil>
	// level 1 at site 0 of 8: 0.60, error below .01: true <nil>
	// level 2 at site 0 of 8: 0.20, error below .01: true <nil>
	// [1 1 1 1 1 1 1 1] -12 <nil>
}

// A program that reads the summary gets numbers, reasons and advice.
func ExampleReason() {
	s := traced(20, energy.Magnetization).Summary()
	for _, r := range s.Reasons() {
		fmt.Println(r.Row, r.Figure, r.Limit, r.Advice)
	}
	b, err := json.Marshal(s)
	fmt.Println(strings.HasPrefix(string(b), `{"chains":4,"draws":20,`), err)
	// Output:
	// f rhat 1.01 run longer; if that does not help, use another method or tempering, or look for chains stuck in modes of their own
	// f ess_bulk 400 run longer or with more chains
	// f ess_tail 400 run longer or with more chains
	// true <nil>
}

package anneal_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The largest cut of a pentagon with one chord.
func ExampleRunner() {
	g, err := model.NewGraph(5, []model.Edge{
		{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 2, J: 3, W: 1}, {I: 3, J: 4, W: 1}, {I: 4, J: 0, W: 1},
		{I: 0, J: 2, W: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		log.Fatal(err)
	}
	a, err := anneal.New(context.Background(), m, mcmc.Metropolis{}, anneal.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	x, e := a.Best()
	fmt.Println("largest cut:", g.Cut(x), "energy:", e)
	// Output: largest cut: 5 energy: -2
}

// The partition function of nine spins, on two machines that each take half of
// the chains; either may stop and go on from its file.
func ExampleAISRunner() {
	m, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	whole := anneal.AISConfig{Chains: 64, Seed: 1}
	var parts []*anneal.AISResult
	for k := range 2 {
		cfg, err := whole.Part(k, 2)
		if err != nil {
			log.Fatal(err)
		}
		part, err := anneal.NewAIS(m, mcmc.Gibbs{}, cfg) // then LoadFile, to resume
		if err != nil {
			log.Fatal(err)
		}
		res, err := part.Run(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		parts = append(parts, res)
	}
	joined, err := parts[0].Join(parts[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.2f ± %.2f from %d chains\n", joined.Value, joined.StdErr, len(joined.LogWeights))
	// Output: log Z = 7.53 ± 0.02 from 64 chains
}

// A run of stepping stones that its context ends goes on from its checkpoint.
func ExampleSteppingStoneRunner() {
	m, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	cfg := anneal.SteppingStoneConfig{Seed: 1, Stages: 10}
	run, err := anneal.NewSteppingStone(m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = run.Run(ended)
	fmt.Println(err)

	var file bytes.Buffer
	if err := run.Save(&file); err != nil {
		log.Fatal(err)
	}
	again, err := anneal.NewSteppingStone(m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := again.Load(context.Background(), &file); err != nil {
		log.Fatal(err)
	}
	z, err := again.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.2f after %d stages\n", z.Value, again.Stage())
	// Output:
	// context canceled
	// log Z = 7.54 after 10 stages
}

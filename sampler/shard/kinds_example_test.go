package shard_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// The partition function of spins, from the weights of three tasks.
func ExampleAIS() {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.1, 0.05)
	if err != nil {
		log.Fatal(err)
	}
	run := shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: 320, Seed: 1}}
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for index := range 3 {
		if err := (shard.Task{Index: index, Count: 3}).Do(context.Background(), dir, run, shard.Options{}); err != nil {
			log.Fatal(err)
		}
	}
	tally, err := shard.Merge(context.Background(), dir, run)
	if err != nil {
		log.Fatal(err)
	}
	z, ess, err := run.LogZ(tally)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.3f ± %.3f by %.0f chains that count\n", z.Value, z.StdErr, ess)
	// Output: log Z = 11.281 ± 0.003 by 319 chains that count
}

// Samples of a diffusion: how often the first of 24 tokens is a 1.
func ExampleSamples() {
	m, err := model.NewMarkov(24, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	if err != nil {
		log.Fatal(err)
	}
	d, err := denoise.NewMarkov(m, denoise.Absorbing)
	if err != nil {
		log.Fatal(err)
	}
	run := shard.Samples[int32]{
		Samples: 1000,
		New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
			cfg := diffusion.Config{Seed: 1, First: first, Count: count}
			return diffusion.New(ctx, d, diffusion.Masked{Mask: 2, FirstHitting: true}, cfg)
		},
		Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0]) }},
		Names:     []string{"first token"},
	}
	part, err := shard.Make(context.Background(), run, 0, 1000, "")
	if err != nil {
		log.Fatal(err)
	}
	s, err := part.Summary()
	fmt.Printf("%s: %.2f of %d samples %v\n", s.Rows[0].Name, s.Rows[0].Mean.Value, s.Chains, err)
	// Output: first token: 0.51 of 1000 samples <nil>
}

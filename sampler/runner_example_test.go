package sampler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// ring is an Ising ring of ten spins.
func ring() *model.Ising {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// Draws is for loops. The first draw comes after the warm-up; Err says
// afterwards whether the loop ran to its end.
func ExampleRunner_Draws() {
	ch, err := sampler.NewChains(context.Background(), ring(), mcmc.Gibbs{}, sampler.Config{Chains: 2, Seed: 1, Thin: 5})
	if err != nil {
		log.Fatal(err)
	}
	for x := range ch.Draws(context.Background(), 3) {
		fmt.Println(x[:10], x[10:]) // one row per chain
	}
	if err := ch.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 0 1 0 0 0 1 1 0 0] [0 1 1 0 1 1 0 0 0 1]
	// [0 0 1 1 1 1 1 0 1 1] [1 1 0 1 1 0 0 1 1 1]
	// [0 1 1 1 1 0 0 1 1 1] [1 0 1 0 1 0 1 1 1 1]
}

// A run that is saved and loaded goes on as if it had not stopped.
func ExampleRunner_Save() {
	ctx := context.Background()
	start := func() *sampler.Chains {
		ch, err := sampler.NewChains(context.Background(), ring(), mcmc.DMALA{}, sampler.Config{Chains: 8, Seed: 1})
		if err != nil {
			log.Fatal(err)
		}
		return ch
	}
	whole, first, second := start(), start(), start()
	var file bytes.Buffer
	for _, err := range []error{
		whole.Run(ctx, 100),
		first.Run(ctx, 50), first.Save(&file),
		second.Load(context.Background(), &file), second.Run(ctx, 50),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(second.Len(), "draws, same states:", slices.Equal(whole.States(), second.States()))
	// Output: 100 draws, same states: true
}

// A run of more chains than fit in memory is made part by part: each takes the memory of
// its own chains while it runs, and its draws are those of the whole. A file for each part
// lets the loop go on where it stopped, or make more draws of every chain later.
func ExampleConfig_Part() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const chains, parts = 256, 4
	up := make([]int, chains) // draws with the first spin up
	run := func(draws int) {
		cfg := sampler.Config{Chains: chains, Seed: 1, Observe: func(chain, _ int, x []int32, _ *sampler.Info) { up[chain] += int(x[0]) }}
		for k := range parts {
			part, err := cfg.Part(k, parts)
			if err != nil {
				log.Fatal(err)
			}
			part.Checkpoint.Path = filepath.Join(dir, fmt.Sprint("part", k))
			ch, err := sampler.NewChains(ctx, ring(), mcmc.Gibbs{}, part)
			if err != nil {
				log.Fatal(err)
			}
			if err := ch.LoadFile(ctx, part.Checkpoint.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				log.Fatal(err)
			}
			if err := ch.Run(ctx, draws-ch.Len()); err != nil {
				log.Fatal(err)
			}
		}
	}
	run(50)
	run(100) // fifty more
	sum := 0
	for _, n := range up {
		sum += n
	}
	fmt.Printf("up in %.3f of %d draws\n", float64(sum)/(100*chains), 100*chains)
	// Output: up in 0.594 of 25600 draws
}

// Stats shows what a longer step buys: fewer proposals are accepted, but more
// spins move.
func ExampleStats() {
	for _, alpha := range []float64{0.1, 0.5, 2} {
		ch, err := sampler.NewChains(context.Background(), ring(), mcmc.DMALA{StepSize: alpha}, sampler.Config{Seed: 1})
		if err != nil {
			log.Fatal(err)
		}
		if err := ch.Run(context.Background(), 1000); err != nil {
			log.Fatal(err)
		}
		s := ch.Stats()
		fmt.Printf("step size %.1f: accepts %.2f, moves %.1f of 10 spins\n", alpha, s.Accept, s.Moved)
	}
	// Output:
	// step size 0.1: accepts 1.00, moves 0.1 of 10 spins
	// step size 0.5: accepts 0.78, moves 1.8 of 10 spins
	// step size 2.0: accepts 0.59, moves 2.2 of 10 spins
}

// An observer reads the energy of a draw from its Info instead of evaluating
// the model again. Blocks of chains are observed concurrently: every chain
// writes to an entry of its own.
func ExampleInfo() {
	lowest := make([]float64, 4)
	ch, err := sampler.NewChains(context.Background(), ring(), mcmc.Metropolis{}, sampler.Config{Chains: 4, Seed: 1,
		Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			lowest[chain] = min(lowest[chain], info.Energy)
		}})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", lowest) // all spins up: −10·0.3 − 10·0.1 per spin
	// Output: [-4.0 -4.0 -4.0 -4.0]
}

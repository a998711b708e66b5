package anneal_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
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

// A run that is stopped saves itself, and goes on from the file in another process to
// the weights of a run that is not.
func ExampleAISRunner_LoadFile() {
	folder, err := os.MkdirTemp("", "ais")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "run")
	ctx, cancel := context.WithCancel(context.Background())
	evaluations := 0
	m := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 {
		if evaluations++; evaluations == 6500 {
			cancel()
		}
		return float64(x[0]*x[1]) - 0.1*float64(x[2]+x[8])
	}}
	cfg := anneal.AISConfig{Chains: 8, Seed: 1, Stages: 50, Workers: 1}
	a, err := anneal.NewAIS(m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	_, err = a.Run(ctx)
	fmt.Println(err, "after stage", a.Stage())
	if err := a.SaveFile(file); err != nil {
		log.Fatal(err)
	}
	b, err := anneal.NewAIS(m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := b.LoadFile(context.Background(), file); err != nil {
		log.Fatal(err)
	}
	resumed, err := b.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	whole, err := anneal.AIS(context.Background(), m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same weights:", slices.Equal(resumed.LogWeights, whole.LogWeights), "after stage", b.Stage())
	// Output:
	// context canceled after stage 15
	// the same weights: true after stage 50
}

// The chains of a run may anneal on several machines: the best state of all is that of
// the run in one piece. The schedule here goes twice as cold as the default one.
func ExampleConfig_Part() {
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	from, to, err := anneal.Cooling(m, 1)
	if err != nil {
		log.Fatal(err)
	}
	cfg := anneal.Config{Chains: 8, Seed: 1, Schedule: anneal.Geometric(from, 2*to)}
	lowest := func(cfg anneal.Config) float64 {
		a, err := anneal.New(context.Background(), m, mcmc.Gibbs{}, cfg)
		if err != nil {
			log.Fatal(err)
		}
		if err := a.Run(context.Background(), 50); err != nil {
			log.Fatal(err)
		}
		_, e := a.Best()
		return e
	}
	best := math.Inf(1)
	for k := range 2 {
		part, err := cfg.Part(k, 2)
		if err != nil {
			log.Fatal(err)
		}
		best = min(best, lowest(part))
	}
	fmt.Printf("%.1f, in one piece %.1f\n", best, lowest(cfg))
	fmt.Printf("inverse temperatures: %.3f … %.1f\n", cfg.Schedule(0), cfg.Schedule(1))
	// Output:
	// -25.2, in one piece -25.2
	// inverse temperatures: 0.267 … 81.9
}

// Two halves of a run of stepping stones, and their estimate together.
func ExampleSteppingStoneRunner_Join() {
	m, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	whole := anneal.SteppingStoneConfig{Seed: 1, Stages: 5}
	var parts []*anneal.SteppingStoneRunner
	for k := range 2 {
		cfg, err := whole.Part(k, 2)
		if err != nil {
			log.Fatal(err)
		}
		part, err := anneal.NewSteppingStone(m, mcmc.Gibbs{}, cfg)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := part.Run(context.Background()); err != nil {
			log.Fatal(err)
		}
		parts = append(parts, part)
	}
	joined, err := parts[0].Join(parts[1])
	if err != nil {
		log.Fatal(err)
	}
	z, err := anneal.SteppingStone(context.Background(), m, mcmc.Gibbs{}, whole)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.2f, the value in one piece: %t\n", joined.Value, joined.Value == z.Value)
	// Output:
	// log Z = 7.53, the value in one piece: true
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

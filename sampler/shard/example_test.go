package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// chains is a run of 320 chains; every task and the merge make the same.
func chains() shard.Chains {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	return shard.Chains{
		Model: m, Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: 320, Seed: 1, Warmup: 100}, Draws: 100,
		Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"m"},
	}
}

// Three tasks of one run, here one after the other: in an array job, [Environment]
// says which of them a process is.
func ExampleTask() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, index := range []int{0, 2, 1} {
		if index == 1 { // not yet
			_, err := shard.Merge(context.Background(), dir, chains())
			fmt.Println(err)
		}
		task := shard.Task{Index: index, Count: 3}
		if err := task.Do(context.Background(), dir, chains(), shard.Options{}); err != nil {
			log.Fatal(err)
		}
	}
	all, err := shard.Merge(context.Background(), dir, chains())
	if err != nil {
		log.Fatal(err)
	}
	s, err := all.Summary()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f ± %.3f from %d chains\n", s.Rows[0].Mean.Value, s.Rows[0].MCSE.Value, s.Chains)
	// Output:
	// shard: Merge: 1 of 3 parts are missing, 0 damaged: do tasks 1 again
	// 0.181 ± 0.003 from 320 chains
}

// Chains are divided into parts in blocks.
func ExampleChains() {
	n, block := chains().Size()
	first, count, err := shard.Task{Index: 1, Count: 3}.Range(n, block)
	fmt.Println(first, count, n, err)
	// Output: 128 96 320 <nil>
}

// Incomplete names the tasks to do again.
func ExampleIncomplete() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := (shard.Task{Index: 1, Count: 3}).Do(context.Background(), dir, chains(), shard.Options{}); err != nil {
		log.Fatal(err)
	}
	_, err = shard.Merge(context.Background(), dir, chains())
	var gap *shard.Incomplete
	fmt.Println(errors.As(err, &gap), gap.Missing)
	// Output: true [0 2]
}

// A Job names a run for a process elsewhere.
func ExampleJob() {
	shard.Register("example", func(args struct{ Chains int }) (shard.Run, error) {
		c := chains()
		c.Config.Chains = args.Chains
		return c, nil
	})
	run, err := shard.Job{Target: "example", Args: []byte(`{"Chains": 64}`)}.Build()
	if err != nil {
		log.Fatal(err)
	}
	n, _ := run.Size()
	fmt.Println(n, run.Kind())
	// Output: 64 chains
}

// Options keep the states, too.
func ExampleOptions() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	o := shard.Options{States: true, Started: func(first, count int) { fmt.Println("chains", first, "…", first+count-1) }}
	if err := (shard.Task{Index: 0, Count: 10}).Do(context.Background(), dir, chains(), o); err != nil {
		log.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// chains 0 … 31
	// part-000000-of-000010.tally
	// states-000000000000.npy
}

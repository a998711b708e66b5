// Command agree runs one job in every way there is and prints the digests, one table:
// in goroutines, as processes of an array job, on Beam's prism in this process and on
// a prism server of its own; each in 1, 7 and 100 parts, with and without assembly
// (GIBBSITE_SIMD).
//
//	go -C sampler/beam run ./agree
//	go -C sampler/beam run ./agree -cost
//
// With -cost it measures the CPU time of parts of 50 ms and more on prism beside that in
// goroutines. With -engine prism it is a program for any runner: see README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"

	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler"
	gbeam "github.com/gibbsite-go/gibbsite/sampler/beam"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// args are those of the target "ising".
type args struct {
	Side, Chains, Warmup, Draws int
	Seed                        uint64
}

func ising(a args) (shard.Run, error) {
	m, err := model.NewIsing(model.Lattice{a.Side, a.Side}, 0.1, 0.05)
	if err != nil {
		return nil, err
	}
	return shard.Chains{
		Model: m, Method: mcmc.DMALA{}, Draws: a.Draws,
		Config:    sampler.Config{Chains: a.Chains, Seed: a.Seed, Warmup: a.Warmup, Workers: 1},
		Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"magnetisation"},
	}, nil
}

func init() {
	shard.Register("ising", ising)
	register.Function1x1(keep)
}

var (
	engine = flag.String("engine", "", "goroutines, task, merge, prism or serve; empty: the whole table")
	cost   = flag.Bool("cost", false, "measure the CPU time of prism")
	port   = flag.Int("port", 8073, "of -engine serve, which is a prism server")
	parts  = flag.Int("parts", 0, "parts of the job")
	dir    = flag.String("dir", "", "the `folder` of tasks; on Beam that of states")
	job    = args{Side: 10, Chains: 3200, Seed: 12}
)

func main() {
	log.SetFlags(0)
	flag.IntVar(&job.Draws, "draws", 96, "draws per chain")
	flag.IntVar(&job.Warmup, "warmup", 50, "steps before them")
	flag.Parse()
	beam.Init()
	ctx := context.Background()
	var t *diagnose.Tally
	var err error
	switch *engine {
	case "":
		err = table(ctx)
	case "goroutines":
		t, err = goroutines(ctx)
	case "task":
		err = task(ctx)
	case "merge":
		var run shard.Run
		if run, err = ising(job); err == nil {
			t, err = shard.Merge(*dir, run)
		}
	case "prism":
		t, err = onBeam(ctx)
	case "serve":
		if _, err = prism.CreateJobServer(ctx, prism.Options{Port: *port}); err == nil {
			select {} // until it is stopped
		}
	default:
		err = fmt.Errorf("-engine %q: want goroutines, task, merge, prism or serve", *engine)
	}
	if err != nil {
		log.Fatal("agree: ", err)
	}
	if t != nil {
		fmt.Println(t.Digest())
	}
}

// goroutines makes the parts in this process, two at a time.
func goroutines(ctx context.Context) (*diagnose.Tally, error) {
	run, err := ising(job)
	if err != nil {
		return nil, err
	}
	tallies, errs := make([]*diagnose.Tally, *parts), make([]error, *parts)
	pool.Each(2, *parts, func(i int) {
		n, block := run.Size()
		first, count, err := shard.Task{Index: i, Count: *parts}.Range(n, block)
		if err == nil {
			tallies[i], err = shard.Make(ctx, run, first, count, "")
		}
		errs[i] = err
	})
	var all diagnose.Tally
	for i, t := range tallies {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if err := all.Merge(t); err != nil {
			return nil, err
		}
	}
	return &all, all.Missing()
}

func task(ctx context.Context) error {
	run, err := ising(job)
	if err != nil {
		return err
	}
	t, err := shard.Environment(*parts)
	if err != nil {
		return err
	}
	return t.Do(ctx, *dir, run, shard.Options{})
}

// onBeam runs the job on the runner that the flags name, prism if none.
func onBeam(ctx context.Context) (*diagnose.Tally, error) {
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	tally, err := gbeam.Chains(s, gbeam.Job{Job: shard.Job{Target: "ising", Args: raw}, Parts: *parts, States: *dir})
	if err != nil {
		return nil, err
	}
	// On a runner elsewhere a program writes the tally to a file; the workers of
	// prism in loopback are this process.
	beam.ParDo(s, keep, tally)
	name := *runners.Runner
	if name == "" {
		name = "prism"
	}
	if _, err := beam.Run(ctx, name, p); err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, fmt.Errorf("no tally came back: a worker elsewhere has it")
	}
	return gbeam.Tally(kept)
}

var kept []byte

func keep(b []byte) int {
	kept = []byte(strings.Clone(string(b)))
	return len(b)
}

// exitCode is of a child that failed, for messages.
func exitCode(err error, stderr []byte) error {
	lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}

// Command scale runs very many short chains of the Ising model as the tasks of an array job and
// merges their statistics. The result is bit-identical to a single run.
//
// Every task runs the same command and reads its number from the environment variables of Slurm
// or Kubernetes. With -merge, scale merges the files that the tasks wrote to the folder. Without
// a folder it runs everything as one task.
//
//	go -C examples run ./scale -dir /shared/run -tasks 100
//	go -C examples run ./scale -dir /shared/run -merge
//
// With -population it estimates log Z by population annealing instead. The -chains replicas form
// populations of the given size, and tasks share the populations:
//
//	go -C examples run ./scale -b 0 -population 1000 -chains 1000000 -dir /shared/run -tasks 1000
//
// The job files array.sbatch and job.yaml are in this folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func main() {
	command.Main("scale", parse, run)
}

type options struct {
	command.Output

	side                  int
	a, b                  float64
	chains, draws, warmup int
	population, stages    int
	seed                  uint64
	workers               int
	dir                   string
	tasks                 int
	merge, states         bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(os.Stderr)
	f.IntVar(&o.side, "side", 10, "sites along each side of the square lattice")
	f.Float64Var(&o.a, "a", 0.1, "coupling, see model.NewIsing")
	f.Float64Var(&o.b, "b", 0.05, "field")
	f.IntVar(&o.chains, "chains", 3200, "number of chains in the whole run")
	f.IntVar(&o.draws, "draws", 96, "draws per chain")
	f.IntVar(&o.warmup, "warmup", 50, "warm-up steps of every chain, -1 for none")
	f.IntVar(&o.population, "population", 0, "number of replicas for population annealing; 0 runs Markov chains instead")
	f.IntVar(&o.stages, "stages", 50, "number of annealing temperatures")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	f.IntVar(&o.workers, "workers", 0, "number of goroutines per task; 0 means one per core")
	f.StringVar(&o.dir, "dir", "", "`folder` shared by all tasks; without one, the whole run is one task")
	f.IntVar(&o.tasks, "tasks", 0, "number of tasks in the whole run; 0 takes it from Slurm")
	f.BoolVar(&o.merge, "merge", false, "merge the results that the tasks left in -dir")
	f.BoolVar(&o.states, "states", false, "keep the last states of all chains in -dir, as states-….npy")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.dir == "" && (o.merge || o.states || o.tasks > 1) {
		return o, fmt.Errorf("-merge, -states and -tasks need a -dir")
	}
	if o.population < 0 || o.stages < 1 {
		return o, fmt.Errorf("-population = %d, -stages = %d, want ≥ 0 and ≥ 1", o.population, o.stages)
	}
	return o, nil
}

// run returns the description of the whole run, which is the same in every task.
func (o options) run() (shard.Run, error) {
	m, err := model.NewIsing(model.Lattice{o.side, o.side}, o.a, o.b)
	if err != nil {
		return nil, err
	}
	if o.population > 0 {
		return shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{
			Chains: o.chains, Population: o.population, Stages: o.stages, Seed: o.seed, Workers: o.workers,
		}}, nil
	}
	energyOf := func(x []int32) float64 {
		var e [1]float64
		m.Energy(e[:], x)
		return e[0] / float64(len(x))
	}
	return shard.Chains{
		Model: m, Method: mcmc.Gibbs{}, Draws: o.draws,
		Config:    sampler.Config{Chains: o.chains, Seed: o.seed, Warmup: o.warmup, Workers: o.workers},
		Functions: []func([]int32) float64{energy.Magnetization, energyOf},
		Names:     []string{"magnetisation", "energy per site"},
	}, nil
}

// report is the output of a task or of the merge.
type report struct {
	Task  *shard.Task     `json:"task,omitempty"`
	Tally *diagnose.Tally `json:"tally,omitempty"`

	Digest string   `json:"digest,omitempty"`
	LogZ   *float64 `json:"log_z,omitempty"`
	Error  float64  `json:"std_err,omitempty"`
	ESS    float64  `json:"ess,omitempty"`
	// means of the observed functions, one entry each
	Mean    []float64         `json:"mean,omitempty"`
	MCSE    []float64         `json:"mcse,omitempty"`
	summary *diagnose.Summary // summary of the merged chains; nil in a task
}

// Warnings returns the warnings of the summary.
func (r report) Warnings() []string {
	if r.summary == nil {
		return nil
	}
	return r.summary.Warnings()
}

func (r report) String() string {
	if r.LogZ != nil {
		return fmt.Sprintf("log Z = %.6f ± %.6f by %.0f effective populations\ndigest %s\n", *r.LogZ, r.Error, r.ESS, r.Digest)
	}
	if r.summary == nil {
		return fmt.Sprintf("task %d of %d is done\n", r.Task.Index, r.Task.Count)
	}
	return fmt.Sprintf("%v\ndigest %s\n", *r.summary, r.Digest)
}

func run(ctx context.Context, o options) (report, error) {
	r, err := o.run()
	if err != nil {
		return report{}, err
	}
	if o.dir == "" {
		return whole(ctx, r)
	}
	if o.merge {
		t, err := shard.Merge(ctx, o.dir, r)
		if err != nil {
			return report{}, err
		}
		return merged(r, t)
	}
	task, err := shard.Environment(o.tasks)
	if err != nil {
		return report{}, err
	}
	err = task.Do(ctx, o.dir, r, shard.Options{States: o.states})
	return report{Task: &task}, err
}

// whole executes the run in this process.
func whole(ctx context.Context, r shard.Run) (report, error) {
	n, _ := r.Size()
	t, do, err := r.Part(ctx, 0, n)
	if err == nil {
		err = do(ctx, io.Writer(nil))
	}
	if err != nil {
		return report{}, err
	}
	return merged(r, t)
}

func merged(run shard.Run, t *diagnose.Tally) (report, error) {
	if a, ok := run.(shard.AIS); ok {
		z, ess, err := a.LogZ(t)
		return report{Tally: t, Digest: t.Digest(), LogZ: &z.Value, Error: z.StdErr, ESS: ess}, err
	}
	s, err := t.Summary()
	r := report{Tally: t, Digest: t.Digest(), summary: &s}
	for _, row := range s.Rows {
		r.Mean, r.MCSE = append(r.Mean, row.Mean.Value), append(r.MCSE, row.MCSE.Value)
	}
	return r, err
}

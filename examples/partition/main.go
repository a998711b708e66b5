// Partition divides a graph into two communities of exactly given sizes by sampling. Partitions
// are weighted by their modularity. Every kernel keeps the sizes fixed and leaves the target
// distribution exactly invariant. The default graph is Zachary's karate club, whose split is
// known.
//
//	go -C examples run ./partition
//	go -C examples run ./partition -graph friends.txt -size 40 -json
//	go -C examples run ./partition -steps 1000000 -checkpoint run -resume
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/diagnosis"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// options holds the command-line options.
type options struct {
	command.Output
	checkpoint.Flags

	graph, methods              string
	size, chains, steps, warmup int
	beta                        float64
	seed                        uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("partition", flag.ContinueOnError)
	f.StringVar(&o.graph, "graph", "", "read the graph from this `file` in the rudy format; the default is Zachary's karate club")
	f.IntVar(&o.size, "size", 0, "number of nodes in the first community; 0 means half of them")
	f.Float64Var(&o.beta, "beta", 1.5, "inverse temperature per edge: p ∝ exp(beta · edges · modularity)")
	f.StringVar(&o.methods, "method", "dmala,pairgibbs,swap", "`kernels` to run; figures and pictures are those of the first")
	f.IntVar(&o.chains, "chains", 32, "number of chains")
	f.IntVar(&o.steps, "steps", 3000, "steps after warm-up")
	f.IntVar(&o.warmup, "warmup", 1000, "warm-up steps; 0 for none")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.chains < 1 || o.steps < 1 || o.warmup < 0:
		return o, fmt.Errorf("-chains = %d, -steps = %d, -warmup = %d, want ≥ 1, ≥ 1 and ≥ 0", o.chains, o.steps, o.warmup)
	case !(o.beta >= 0) || math.IsInf(o.beta, 1):
		return o, fmt.Errorf("-beta = %v, want ≥ 0 and finite", o.beta)
	case o.size < 0:
		return o, fmt.Errorf("-size = %d, want ≥ 1, or 0 for half", o.size)
	}
	return o, nil
}

// kernel returns the named method, restricted to the language within.
func kernel(name string, within constraint.Automaton) (sampler.Method, error) {
	switch name {
	case "dmala":
		return mcmc.DMALA{Within: within}, nil
	case "pairgibbs":
		return mcmc.PairGibbs{Within: within}, nil
	case "swap":
		return mcmc.Swap{Within: within}, nil
	}
	return nil, fmt.Errorf("-method: no kernel %q; there are dmala, pairgibbs and swap", name)
}

func run(ctx context.Context, o options) (*report, error) {
	c, err := load(o.graph)
	if err != nil {
		return nil, err
	}
	if o.size == 0 {
		o.size = c.n / 2
	}
	if o.size >= c.n {
		return nil, fmt.Errorf("-size = %d, want < %d, the number of nodes", o.size, c.n)
	}
	names := strings.Split(o.methods, ",")
	r := newReport(o, c)
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if _, err := kernel(names[i], constraint.Any{}); err != nil {
			return nil, err
		}
	}
	var first *outcome
	var drawn []diagnosis.Run
	for _, name := range names {
		out, err := sample(ctx, o, c, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.add(out)
		if first == nil {
			first = out
		}
		if o.Dir != "" {
			d, err := diagnosis.New(out.name, out.trace, "modularity")
			if err != nil {
				return nil, err
			}
			drawn = append(drawn, d)
		}
	}
	r.settle(c, first)
	if o.Dir != "" {
		graph, err := drawGraph(c, first)
		if err != nil {
			return nil, err
		}
		chains, err := diagnosis.Figures("modularity", drawn, nil)
		if err != nil {
			return nil, err
		}
		r.Add(graph)
		r.Add(chains...)
	}
	return r, nil
}

func main() {
	command.Main("partition", parse, run)
}

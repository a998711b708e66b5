// Ising samples an Ising model or a QUBO by several kernels side by side and
// judges each against the others and, where every state can be enumerated,
// against the exact answer. With -anneal it minimises instead.
//
//	go -C examples run ./ising
//	go -C examples run ./ising -graph G1.txt -anneal
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// options are the command line.
type options struct {
	command.Output
	checkpoint.Flags

	graph, format, lattice, methods string
	a, b, beta                      float64
	chains, steps, warmup           int
	seed                            uint64
	anneal                          bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("ising", flag.ContinueOnError)
	f.StringVar(&o.graph, "graph", "", "read the model from this `file` instead of building a torus")
	f.StringVar(&o.format, "format", "auto", "what the file holds: rudy, dimacs (graphs; the energy is minus the cut), bits, spins (coefficients `i j w`), csv, csv-spins (a matrix), qubo, bqm, bqpjson, uai, or auto, by the extension")
	f.StringVar(&o.lattice, "lattice", "5,5", "`sides` of the periodic lattice")
	f.Float64Var(&o.a, "a", 0.1, "coupling of E(s) = −a sᵀWs − b Σs, where W counts every bond twice")
	f.Float64Var(&o.b, "b", 0.2, "field of the same")
	f.Float64Var(&o.beta, "beta", 1, "inverse temperature")
	f.StringVar(&o.methods, "method", "dmala,gibbs,gwg,dula", "`kernels` to run: dmala, dula, gibbs, chromatic, metropolis, gwg")
	f.IntVar(&o.chains, "chains", 64, "number of chains")
	f.IntVar(&o.steps, "steps", 5000, "steps after warm-up, or of the annealing run (then the default is 1000)")
	f.IntVar(&o.warmup, "warmup", 1000, "warm-up steps; −1 for none")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	f.BoolVar(&o.anneal, "anneal", false, "minimise the energy with the first kernel; on a graph, find a large cut")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if o.chains < 1 || o.steps < 1 {
		return o, fmt.Errorf("-chains = %d, -steps = %d, want ≥ 1", o.chains, o.steps)
	}
	if o.anneal && !given(f, "method") {
		o.methods = "metropolis"
	}
	if o.anneal && !given(f, "steps") {
		o.steps = 1000 // finds the largest known cut of the Gset's G1
	}
	if o.Dir != "" && !o.anneal && o.long() {
		return o, fmt.Errorf("-chains = %d, -steps = %d: pictures need every draw, want ≤ %d in all", o.chains, o.steps, keptDraws)
	}
	return o, nil
}

// keptDraws is how many draws of all chains are kept, half a gigabyte per
// kernel. Longer runs are condensed as they go.
const keptDraws = 1 << 24

func (o *options) long() bool { return o.steps > keptDraws/o.chains }

func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}

var kernels = map[string]sampler.Method{
	"dmala":      mcmc.DMALA{},
	"dula":       mcmc.DULA{},
	"gibbs":      mcmc.Gibbs{},
	"chromatic":  mcmc.Gibbs{Scan: mcmc.Chromatic},
	"metropolis": mcmc.Metropolis{},
	"gwg":        mcmc.GWG{},
}

func run(ctx context.Context, o options) (*report, error) {
	p, err := load(o)
	if err != nil {
		return nil, err
	}
	names := strings.Split(o.methods, ",")
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		if kernels[name] == nil {
			return nil, fmt.Errorf("-method: no kernel %q; there are dmala, dula, gibbs, chromatic, metropolis, gwg", name)
		}
	}
	if o.anneal {
		return minimise(ctx, o, p, names[0])
	}
	return sample(ctx, o, p, names)
}

func main() {
	command.Main("ising", parse, run)
}

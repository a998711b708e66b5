// Ising samples an Ising model or a QUBO with several kernels. It compares the kernels with each
// other and, if all states can be enumerated, with the exact answer. With -anneal it minimises
// the energy instead.
//
//	go -C examples run ./ising
//	go -C examples run ./ising -graph G1.txt -anneal
//	go -C examples run ./ising -graph G57.txt -anneal -seconds 30 -bound
//	go -C examples run ./ising -method dmala,gwg-3,hb-10-1,auto -alpha 0.2
//	go -C examples run ./ising -bias -out out
//	go -C examples run ./ising -sets 32
//	go -C examples run ./ising -cuts 8
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// options holds the command-line options.
type options struct {
	command.Output
	checkpoint.Flags

	graph, format, lattice, methods string
	a, b, beta, alpha               float64
	chains, steps, warmup           int
	sets, cuts                      int // numbers of random graphs of -sets and -cuts
	seed                            uint64
	anneal, bias, bound             bool
	named                           bool    // whether -method was given
	seconds, target                 float64 // time limit, and energy or cut at which -anneal stops
	targeted                        bool
	kernels                         map[string]sampler.Method // kernels of -method, by name
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("ising", flag.ContinueOnError)
	f.StringVar(&o.graph, "graph", "", "read the model from this `file` instead of building a torus")
	f.StringVar(&o.format, "format", "auto", "`format` of the file: rudy, dimacs (graphs; the energy is minus the cut), bits, spins (coefficients i j w), csv, csv-spins (a matrix), qubo, bqm, bqpjson, uai, or auto, by the extension")
	f.StringVar(&o.lattice, "lattice", "5,5", "`sides` of the periodic lattice")
	f.Float64Var(&o.a, "a", 0.1, "coupling of E(s) = −a sᵀWs − b Σs, where W counts every bond twice")
	f.Float64Var(&o.b, "b", 0.2, "field b of the same energy")
	f.Float64Var(&o.beta, "beta", 1, "inverse temperature")
	f.StringVar(&o.methods, "method", "dmala,gibbs,gwg,dula", "`kernels` to run: "+strings.Join(kernelNames, ", ")+"; gwg-3 changes three sites a step, hb-10-1 is a Hamming ball of radius 1 in blocks of 10")
	f.Float64Var(&o.alpha, "alpha", 0, "step size of dmala, dula and dlmc; 0 tunes it during warm-up, except for dula, which has its own default")
	f.IntVar(&o.chains, "chains", defaultChains, "number of chains; with -anneal, number of searches (default 4, or 1 for large graphs of small integer weights)")
	f.IntVar(&o.steps, "steps", defaultSteps, "steps after warm-up; with -anneal, rounds of each search (default 200, or unlimited with -seconds or -target) or, with -method, steps of an annealing pass (default 1000)")
	f.IntVar(&o.warmup, "warmup", 1000, "warm-up steps; −1 for none")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	f.BoolVar(&o.anneal, "anneal", false, "minimise the energy or, on a graph, find a large cut. Pairwise models are searched; others, and any model with -method, are annealed with the first kernel")
	f.BoolVar(&o.bias, "bias", false, "measure how far DULA is from its target on a 3×3 torus, for several step sizes and for energies that are less and less quadratic")
	f.IntVar(&o.sets, "sets", 0, "look for the largest cliques of known graphs, and for independent sets in this many random `graphs`")
	f.IntVar(&o.cuts, "cuts", 0, "look for the largest cuts of this many random `graphs` of each of ten kinds")
	f.BoolVar(&o.bound, "bound", false, "with -anneal, prove a bound on the cut or energy before the search")
	f.Float64Var(&o.seconds, "seconds", 0, "stop -anneal after this many `seconds` of processor time of all cores together, not counting the proof of -bound")
	f.Float64Var(&o.target, "target", 0, "stop -anneal once it has found a `cut` this large or, without a graph, an energy this low")
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
	if o.bias && (o.anneal || o.Checkpoint != "" || command.Given(f, "graph") || command.Given(f, "lattice") || command.Given(f, "method")) {
		return o, fmt.Errorf("-bias goes with neither -anneal, -graph, -lattice, -method nor -checkpoint")
	}
	for _, random := range []struct {
		name   string
		graphs int
	}{{"sets", o.sets}, {"cuts", o.cuts}} {
		if random.graphs < 0 || command.Given(f, random.name) && (random.graphs == 0 || o.sets > 0 && o.cuts > 0 || o.bias || o.anneal || o.Checkpoint != "" || o.Dir != "" || command.Given(f, "graph") || command.Given(f, "lattice") || command.Given(f, "method")) {
			return o, fmt.Errorf("-%s = %d, want ≥ 1, and one of -sets and -cuts, without -anneal, -bias, -graph, -lattice, -method, -checkpoint and -out", random.name, random.graphs)
		}
	}
	o.named, o.targeted = command.Given(f, "method"), command.Given(f, "target")
	if !o.anneal && (o.seconds != 0 || o.targeted) {
		return o, fmt.Errorf("-seconds and -target go with -anneal")
	}
	if o.bound && (!o.anneal || o.named) {
		return o, fmt.Errorf("-bound goes with -anneal without -method")
	}
	if !(o.alpha >= 0) || math.IsInf(o.alpha, 0) {
		return o, fmt.Errorf("-alpha = %v, want ≥ 0", o.alpha)
	}
	if !(o.seconds >= 0) {
		return o, fmt.Errorf("-seconds = %v, want ≥ 0", o.seconds)
	}
	if o.anneal && !o.named {
		o.methods = "metropolis"
	}
	if o.anneal && !command.Given(f, "steps") {
		o.steps = 0 // as many as the way of annealing wants
	}
	if o.anneal && !command.Given(f, "chains") {
		o.chains = 0
	}
	if o.Dir != "" && !o.anneal && !o.bias && o.long() {
		return o, fmt.Errorf("-chains = %d, -steps = %d: pictures need every draw, want ≤ %d in all", o.chains, o.steps, keptDraws)
	}
	return o, nil
}

const (
	defaultChains = 64
	defaultSteps  = 5000
)

// keptDraws is the maximum number of draws, over all chains, that are kept in memory: half a
// gigabyte per kernel. Longer runs keep streaming statistics only.
const keptDraws = 1 << 24

func (o *options) long() bool { return o.steps > keptDraws/o.chains }

func run(ctx context.Context, o options) (*report, error) {
	if o.bias {
		return biases(ctx, o)
	}
	if o.sets > 0 {
		return sets(ctx, o)
	}
	if o.cuts > 0 {
		return cuts(ctx, o)
	}
	p, err := load(o)
	if err != nil {
		return nil, err
	}
	names, err := o.choose()
	if err != nil {
		return nil, err
	}
	if o.anneal {
		return minimise(ctx, o, p, names[0])
	}
	return sample(ctx, o, p, names)
}

func main() {
	command.Main("ising", parse, run)
}

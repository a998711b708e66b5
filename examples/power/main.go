// Power shares the power of transmitters that interfere, so that every user has a least
// rate on average over samples: the wireless problem of Hadou, Uslu and Ribeiro (2026),
// by primal–dual inference and by the methods it is compared with.
//
//	go -C examples run ./power
//	go -C examples run ./power -users 200
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options are the command line.
type options struct {
	command.Output

	users, samples, steps, candidates int
	spacing, least                    float64
	methods                           []string
	seed                              uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("power", flag.ContinueOnError)
	f.IntVar(&o.users, "users", 50, "pairs of a transmitter and a receiver; the paper has 200")
	f.Float64Var(&o.spacing, "spacing", 170, "side of the area per pair, in metres")
	f.Float64Var(&o.least, "least", 0.6, "the rate that every user must have on average, in bit/s/Hz")
	f.IntVar(&o.samples, "samples", 32, "samples of the powers, over which rates are averaged")
	f.IntVar(&o.steps, "steps", 500, "steps of the diffusion, and of Langevin chains")
	f.IntVar(&o.candidates, "candidates", 8, "candidates of the Monte Carlo score")
	methods := f.String("method", strings.Join(names, ","), "`methods` to run")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the network and of samples")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, m := range strings.Split(*methods, ",") {
		m = strings.TrimSpace(m)
		if _, ok := explain[m]; !ok {
			return o, fmt.Errorf("-method: no method %q; there are %s", m, strings.Join(names, ", "))
		}
		o.methods = append(o.methods, m)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.users < 1 || o.users > 1000:
		return o, fmt.Errorf("-users = %d, want 1 to 1000", o.users)
	case o.samples < 1 || o.steps < 1 || o.candidates < 1:
		return o, fmt.Errorf("-samples = %d, -steps = %d, -candidates = %d, want ≥ 1", o.samples, o.steps, o.candidates)
	case !(o.spacing > 0) || math.IsInf(o.spacing, 1):
		return o, fmt.Errorf("-spacing = %v, want > 0 and finite", o.spacing)
	case !(o.least >= 0) || math.IsInf(o.least, 1):
		return o, fmt.Errorf("-least = %v, want ≥ 0 and finite", o.least)
	}
	return o, nil
}

func run(ctx context.Context, o options) (*report, error) {
	p, err := newProblem(o)
	if err != nil {
		return nil, err
	}
	r := &report{Users: o.users, Samples: o.samples, Steps: o.steps, Least: o.least, Seed: o.seed}
	for _, name := range o.methods {
		f, err := p.solve(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Methods = append(r.Methods, *f)
	}
	if o.Dir != "" {
		f, err := r.draw()
		if err != nil {
			return nil, err
		}
		r.Add(f)
	}
	return r, nil
}

func main() {
	command.Main("power", parse, run)
}

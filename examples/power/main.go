// Power shares the power of transmitters that interfere, so that every user has a least
// rate on average over samples: the wireless problem of Hadou, Uslu and Ribeiro (2026),
// by primal–dual inference and by the methods it is compared with, with standard errors over
// networks.
//
//	go -C examples run ./power
//	go -C examples run ./power -users 200 -fades 50 -samples 200 -seeds 1
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

	users, fades, samples, steps, candidates, seeds int
	spacing, least                                  float64
	methods                                         []string
	seed                                            uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("power", flag.ContinueOnError)
	f.IntVar(&o.users, "users", 20, "pairs of a transmitter and a receiver; the paper has 200")
	f.Float64Var(&o.spacing, "spacing", 290, "side of the area per pair, in metres: that of the authors' program; the paper has 410")
	f.IntVar(&o.fades, "fades", 8, "draws of the fading, over which rates are averaged; the paper has 50")
	f.Float64Var(&o.least, "least", 0.6, "the rate that every user must have on average, in bit/s/Hz")
	f.IntVar(&o.samples, "samples", 16, "samples of the powers, over which rates are averaged")
	f.IntVar(&o.steps, "steps", 500, "steps of the diffusion, and of Langevin chains")
	f.IntVar(&o.candidates, "candidates", 8, "candidates of the Monte Carlo score")
	methods := f.String("method", strings.Join(names, ","), "`methods` to run")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the first network and its samples")
	f.IntVar(&o.seeds, "seeds", 3, "networks, over which figures are averaged")
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
	case o.fades < 1 || o.fades > 1000:
		return o, fmt.Errorf("-fades = %d, want 1 to 1000", o.fades)
	case o.samples < 1 || o.steps < 1 || o.candidates < 1 || o.seeds < 1:
		return o, fmt.Errorf("-samples = %d, -steps = %d, -candidates = %d, -seeds = %d, want ≥ 1", o.samples, o.steps, o.candidates, o.seeds)
	case o.samples > 1<<20:
		return o, fmt.Errorf("-samples = %d, want at most %d", o.samples, 1<<20)
	case !(o.spacing > 0) || math.IsInf(o.spacing, 1):
		return o, fmt.Errorf("-spacing = %v, want > 0 and finite", o.spacing)
	case !(o.least >= 0) || math.IsInf(o.least, 1):
		return o, fmt.Errorf("-least = %v, want ≥ 0 and finite", o.least)
	}
	return o, nil
}

func run(ctx context.Context, o options) (*report, error) {
	r := &report{Users: o.users, Fades: o.fades, Samples: o.samples, Steps: o.steps, Least: o.least, Seed: o.seed, Seeds: o.seeds}
	runs := make([][]figures, len(o.methods))
	for range o.seeds {
		p, err := newProblem(o)
		if err != nil {
			return nil, err
		}
		for k, name := range o.methods {
			f, err := p.solve(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			runs[k] = append(runs[k], *f)
		}
		o.seed++
	}
	for k, of := range runs {
		f := summary(of)
		if k > 0 && o.seeds > 1 {
			f.Ahead = compare(of, runs[0])
		}
		r.Methods = append(r.Methods, f)
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

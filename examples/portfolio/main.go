// Portfolio draws portfolios of assets that have a high return while no asset takes
// more than its budget of the risk on average over samples: the problem of Hadou, Uslu
// and Ribeiro (2026), by primal–dual inference and by the methods it is compared with.
//
//	go -C examples run ./portfolio
//	go -C examples run ./portfolio -samples 1024 -steps 500 -method pdi
//	go -C examples run ./portfolio -csv returns.csv -out out
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

	csv                                string
	assets, samples, steps, candidates int
	budget, cold                       float64
	methods                            []string
	seed                               uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("portfolio", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "read returns from this `file`, one column per asset under its name, one row per period; the default is a market that the program makes")
	f.IntVar(&o.assets, "assets", 500, "assets of that market")
	f.Float64Var(&o.budget, "budget", 3, "part of the variance that an asset may take on average, in units of the mean part at equal weights")
	f.Float64Var(&o.cold, "cold", 2000, "inverse temperature: nats per mean return of an asset")
	f.IntVar(&o.samples, "samples", 64, "portfolios, over which parts of the variance are averaged; the paper has 1024")
	f.IntVar(&o.steps, "steps", 200, "steps of the diffusion, and of Langevin chains; the paper has 500")
	f.IntVar(&o.candidates, "candidates", 512, "candidates of the Monte Carlo score (pdi-mc)")
	methods := f.String("method", "pdi,pdl,pdm,dps,unconstrained,equal", "`methods` to run, of "+strings.Join(names, ", "))
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the market and of samples")
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
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.assets < 2 || o.assets > mostAssets:
		return o, fmt.Errorf("-assets = %d, want 2 to %d", o.assets, mostAssets)
	case o.samples < 1 || o.steps < 1 || o.candidates < 1:
		return o, fmt.Errorf("-samples = %d, -steps = %d, -candidates = %d, want ≥ 1", o.samples, o.steps, o.candidates)
	case !positive(o.budget):
		return o, fmt.Errorf("-budget = %v, want > 0 and finite", o.budget)
	case !positive(o.cold):
		return o, fmt.Errorf("-cold = %v, want > 0 and finite", o.cold)
	}
	return o, nil
}

// mostAssets bounds the covariance of a file, which is dense.
const mostAssets = 5000

// market reads or makes the market of the options.
func (o options) market() (*market, error) {
	if o.csv != "" {
		return openReturns(o.csv)
	}
	return newMarket(o.assets, o.seed), nil
}

func run(ctx context.Context, o options) (*report, error) {
	p, err := newProblem(o)
	if err != nil {
		return nil, err
	}
	r := &report{Assets: p.law.Sites(), Samples: o.samples, Steps: o.steps, Budget: o.budget, Seed: o.seed}
	for _, name := range o.methods {
		f, err := p.solve(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Methods = append(r.Methods, *f)
	}
	if o.Dir != "" {
		if err := r.draw(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func main() {
	command.Main("portfolio", parse, run)
}

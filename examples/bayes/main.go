// Bayes samples the binary weights of a Bayesian neural network from their posterior. It
// compares Gibbs sampling, Gibbs with gradients, DULA and DMALA (Zhang, Liu and Liu 2022,
// section 6.4).
//
//	go -C examples run ./bayes
//	go -C examples run ./bayes -csv table.csv -target recidivism -out out
//	go -C examples run ./bayes -shape news
//	go -C examples run ./bayes -method dula -batch 100
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// options holds the command-line options.
type options struct {
	command.Output

	csv, shape, target, method      string
	n, hidden, chains, steps, batch int
	weight, step                    float64
	seed                            uint64
	chosen                          map[string]bool
}

// methods lists the samplers in the paper's order.
var methods = []string{"gibbs", "gwg", "dula", "dmala"}

// recipe returns the sampler with the given name.
func (o options) recipe(name string) sampler.Method {
	switch name {
	case "gibbs": // redraws one weight a step, as in the paper
		return mcmc.HammingBall{Block: 1, Updates: 1}
	case "gwg":
		return mcmc.GWG{}
	case "dula":
		return mcmc.DULA{StepSize: o.step, Minibatch: o.batch > 0}
	}
	return mcmc.DMALA{StepSize: o.step}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bayes", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "learn from this CSV `file` of numbers, whose first line has names, instead of generated data")
	f.StringVar(&o.shape, "shape", "compas", "`shape` of the generated data: compas (labels; 13 inputs), news or blog (regression; 58 and 280 inputs)")
	f.StringVar(&o.target, "target", "", "`column` of -csv to predict, with numbers from 0 to 1; \"\" means the last")
	f.IntVar(&o.n, "n", 4888, "training rows to generate; a quarter as many are added for testing")
	f.IntVar(&o.hidden, "hidden", 500, "hidden units")
	f.IntVar(&o.chains, "chains", 50, "number of chains; predictions are averaged over them")
	f.IntVar(&o.steps, "steps", 1000, "steps of each sampler")
	f.IntVar(&o.batch, "batch", 0, "rows per minibatch from which DULA estimates gradients; 0 means all rows")
	f.Float64Var(&o.weight, "weight", 100, "weight of the mean squared error in the energy")
	f.Float64Var(&o.step, "alpha", 0.1, "step size of DULA and DMALA; 0 lets each choose")
	f.StringVar(&o.method, "method", strings.Join(methods, ","), "comma-separated samplers")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.target != "" && o.csv == "":
		return o, fmt.Errorf("-target = %q needs -csv", o.target)
	case o.shape != "compas" && shapes[o.shape] == nil:
		return o, fmt.Errorf("-shape: no shape %q; there are compas, news, blog", o.shape)
	case o.shape != "compas" && o.csv != "":
		return o, fmt.Errorf("-csv = %q with -shape = %q, want only one of them", o.csv, o.shape)
	case o.n < 100 || o.n > 1<<20:
		return o, fmt.Errorf("-n = %d, want 100 to %d", o.n, 1<<20)
	case o.hidden < 1 || o.hidden > 1<<16:
		return o, fmt.Errorf("-hidden = %d, want 1 to %d", o.hidden, 1<<16)
	case o.chains < 1 || o.chains > 1<<16:
		return o, fmt.Errorf("-chains = %d, want 1 to %d", o.chains, 1<<16)
	case o.steps < 1 || o.steps > 1<<20:
		return o, fmt.Errorf("-steps = %d, want 1 to %d", o.steps, 1<<20)
	case o.batch < 0:
		return o, fmt.Errorf("-batch = %d, want ≥ 0", o.batch)
	case !(o.weight > 0) || math.IsInf(o.weight, 1):
		return o, fmt.Errorf("-weight = %v, want > 0 and finite", o.weight)
	case !(o.step >= 0) || math.IsInf(o.step, 1):
		return o, fmt.Errorf("-alpha = %v, want ≥ 0 and finite", o.step)
	}
	o.chosen = map[string]bool{}
	for name := range strings.SplitSeq(o.method, ",") {
		name = strings.TrimSpace(name)
		known := false
		for _, m := range methods {
			known = known || m == name
		}
		if !known {
			return o, fmt.Errorf("-method: no sampler %q; there are %s", name, strings.Join(methods, ", "))
		}
		o.chosen[name] = true
	}
	return o, nil
}

func run(ctx context.Context, o options) (*report, error) {
	d, err := load(o)
	if err != nil {
		return nil, err
	}
	return compare(ctx, o, d)
}

func main() {
	command.Main("bayes", parse, run)
}

// Unlearn removes a part of a distribution: three Gaussians on a grid forget one of them, and a
// model of words forgets a dialect. It shows the cost of forgetting in the three formulations of
// Khalafi, Ribeiro and Ding (2026). For the words it also finds the multiplier by sampling. On
// random problems with several concepts it compares a multiplier for each with equal weights.
//
//	go -C examples run ./unlearn
//	go -C examples run ./unlearn -out out
//	go -C examples run ./unlearn -network
//
// With -network it trains a network on the three Gaussians and fine-tunes its weights until
// bounds hold. It compares the resulting distribution with the optimum by quadrature. A second
// network, of words, forgets the dialect down to -goal and is evaluated by sums over all words. With
// -out the page shows samples of the first network before and after.
package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	levels                []float64
	goal                  float64
	chains, steps, length int
	seed                  uint64
	network               bool
	training              int
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("unlearn", flag.ContinueOnError)
	levels := f.String("levels", "1,0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2,0.15,0.1,0.05,0.02",
		"the unlearned likelihoods `r` of the curve, 1 before unlearning")
	f.Float64Var(&o.goal, "goal", 0.2, "unlearned likelihood of the sampled words")
	f.IntVar(&o.length, "letters", 6, "letters per word, 2 to 8")
	f.IntVar(&o.chains, "chains", 128, "number of chains")
	f.IntVar(&o.steps, "steps", 2000, "draws per chain, after four times as many steps that adjust the multiplier")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	f.BoolVar(&o.network, "network", false, "make networks forget instead: one of the three Gaussians, at the levels 0.5, 0.2 and 0.05 or those of -levels, and one of words, at -goal")
	f.IntVar(&o.training, "training", 3000, "training steps of the network of points; forgetting takes 30% as many. The network of words takes two thirds as many, and forgetting 10% of those")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if given := false; o.network {
		f.Visit(func(f *flag.Flag) { given = given || f.Name == "levels" })
		if !given {
			*levels = "0.5,0.2,0.05"
		}
	}
	for _, s := range strings.Split(*levels, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(v > 0 && v <= 1) {
			return o, fmt.Errorf("-levels: %q, want comma-separated numbers in (0, 1]", s)
		}
		o.levels = append(o.levels, v)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case !(o.goal > 0 && o.goal < 1):
		return o, fmt.Errorf("-goal = %v, want 0 < goal < 1", o.goal)
	case o.training < 10:
		return o, fmt.Errorf("-training = %d, want ≥ 10", o.training)
	case o.length < 2 || o.length > 8:
		return o, fmt.Errorf("-letters = %d, want 2 to 8", o.length)
	case o.chains < 2 || o.steps < 1:
		return o, fmt.Errorf("-chains = %d, -steps = %d, want ≥ 2 and ≥ 1", o.chains, o.steps)
	}
	return o, nil
}

// formulations lists the formulations of the paper. Reverse KL and its variant for finite spaces
// give the same curve, so that only one is listed. LikelihoodRatio uses the ratio to the
// original distribution.
var formulations = []unlearn.Formulation{unlearn.LikelihoodRatio, unlearn.ReverseKL, unlearn.ForwardKL}

func run(ctx context.Context, o options) (*report, error) {
	r := &report{levels: o.levels}
	grid, err := newGrid()
	if err != nil {
		return nil, err
	}
	if r.Curve, r.limits, err = curve(ctx, grid, o.levels); err != nil {
		return nil, err
	}
	w, err := newWords(o.length)
	if err != nil {
		return nil, err
	}
	if r.Words, err = w.unlearn(ctx, o); err != nil {
		return nil, err
	}
	if r.Several, err = several(ctx); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		f, err := drawCurves(r)
		if err != nil {
			return nil, err
		}
		r.Add(f)
	}
	return r, nil
}

func main() {
	command.Main("unlearn", parse, func(ctx context.Context, o options) (fmt.Stringer, error) {
		if o.network {
			return networks(ctx, o)
		}
		return run(ctx, o)
	})
}

// Portfolio draws portfolios with a high return in which, on average over samples, no asset
// contributes more to the risk than its budget. This is the problem of Hadou, Uslu and Ribeiro
// (2026). The program solves it by primal–dual inference and by the methods with which the paper
// compares it. From a file of prices it computes the weights of every asset, and their
// performance in periods that were not used for fitting.
//
//	go -C examples run ./portfolio
//	go -C examples run ./portfolio -samples 1024 -steps 500 -method pdi
//	go -C examples run ./portfolio -study budgets
//	go -C examples run ./portfolio -csv prices.csv -weights weights.csv -out out
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	csv, kind, weights                 string
	assets, samples, steps, candidates int
	rounds                             int
	budget, cold, holdout, year        float64
	rebalance, seeds                   int
	variants                           []variant
	budgets                            []float64
	question                           string // title of the study; "" without -study
	seed                               uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("portfolio", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "read prices or returns from this `file`, one column per asset under its name, one row per period; the default is a generated market")
	f.StringVar(&o.kind, "kind", "auto", "contents of the file: prices, returns, or auto, which detects them")
	f.Float64Var(&o.holdout, "holdout", 0.25, "fraction of the file's periods, at its end, held out to report how weights perform")
	f.IntVar(&o.rebalance, "rebalance", 21, "held-out periods after which weights are restored, because they drift with prices")
	f.Float64Var(&o.year, "year", 252, "periods per year in the file")
	f.StringVar(&o.weights, "weights", "", "write the weights of every asset to this `file`, one per method, and the fractions of its risk budget that it uses")
	f.IntVar(&o.assets, "assets", 500, "number of assets in the generated market")
	f.Float64Var(&o.budget, "budget", 3, "share of the variance that an asset may contribute on average, in units of the mean share at equal weights")
	f.Float64Var(&o.cold, "cold", 0, "inverse temperature: nats per mean return of an asset; 0 means 4 times the number of assets")
	f.IntVar(&o.samples, "samples", 64, "number of portfolios over which shares of the variance are averaged; 1024 in the paper")
	f.IntVar(&o.steps, "steps", 200, "steps of the diffusion and of Langevin chains; 500 in the paper")
	f.IntVar(&o.candidates, "candidates", 512, "candidates of the Monte Carlo score (pdi-mc)")
	f.IntVar(&o.rounds, "rounds", 24, "training rounds of the network (pdi-net)")
	methods := f.String("method", "", "`methods` to run, of "+strings.Join(names, ", ")+"; the default is "+strings.Join(made, ",")+", and "+strings.Join(read, ",")+" for a file")
	about := f.String("study", "", "answer a `question` about primal–dual inference instead of comparing methods: "+questions())
	budgets := f.String("budgets", "1.5,2,3,4,6", "`budgets` for -study budgets, in the units of -budget")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the market and of samples")
	f.IntVar(&o.seeds, "seeds", 1, "number of seeds, starting with -seed, each with its own market (with a file: its own samples); several seeds are reported as means and standard errors, with details of the first")
	o.Define(f, "weights.csv")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *methods == "" {
		*methods = strings.Join(made, ",")
		if o.csv != "" {
			*methods = strings.Join(read, ",")
		}
	}
	for _, m := range strings.Split(*methods, ",") {
		m = strings.TrimSpace(m)
		if _, ok := explain[m]; !ok {
			return o, fmt.Errorf("-method: no method %q; there are %s", m, strings.Join(names, ", "))
		}
		o.variants = append(o.variants, variant{name: m, words: explain[m], method: m})
	}
	for _, b := range strings.Split(*budgets, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(b), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 1) {
			return o, fmt.Errorf("-budgets: %q, want numbers > 0 and finite, separated by commas", b)
		}
		o.budgets = append(o.budgets, v)
	}
	if *about != "budgets" && command.Given(f, "budgets") {
		return o, errors.New("-budgets goes with -study budgets")
	}
	if *about != "" {
		if command.Given(f, "method") {
			return o, errors.New("-study chooses its own methods and excludes -method")
		}
		k := slices.IndexFunc(studies, func(s study) bool { return s.name == *about })
		if k < 0 {
			return o, fmt.Errorf("-study: no question %q; there are %s", *about, questions())
		}
		o.variants, o.question = studies[k].variants(o), studies[k].words
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.assets < 2 || o.assets > mostAssets:
		return o, fmt.Errorf("-assets = %d, want 2 to %d", o.assets, mostAssets)
	case o.samples < 1 || o.steps < 1 || o.candidates < 1 || o.rounds < 1:
		return o, fmt.Errorf("-samples = %d, -steps = %d, -candidates = %d, -rounds = %d, want ≥ 1", o.samples, o.steps, o.candidates, o.rounds)
	case o.seeds < 1:
		return o, fmt.Errorf("-seeds = %d, want ≥ 1", o.seeds)
	case !positive(o.budget):
		return o, fmt.Errorf("-budget = %v, want > 0 and finite", o.budget)
	case o.cold != 0 && !positive(o.cold):
		return o, fmt.Errorf("-cold = %v, want > 0 and finite, or 0", o.cold)
	case o.kind != "auto" && o.kind != "prices" && o.kind != "returns":
		return o, fmt.Errorf("-kind = %q, want auto, prices or returns", o.kind)
	case !(o.holdout >= 0 && o.holdout < 1):
		return o, fmt.Errorf("-holdout = %v, want 0 ≤ holdout < 1", o.holdout)
	case o.rebalance < 1:
		return o, fmt.Errorf("-rebalance = %d, want ≥ 1", o.rebalance)
	case !positive(o.year):
		return o, fmt.Errorf("-year = %v, want > 0 and finite", o.year)
	}
	return o, nil
}

// mostAssets is the maximum number of assets in a file, whose covariance is dense.
const mostAssets = 5000

// market reads or generates the market. From a file it also returns the held-out returns and
// notes about the file.
func (o options) market() (m *market, held [][]float64, notes []string, err error) {
	if o.csv == "" {
		return newMarket(o.assets, o.seed), nil, nil, nil
	}
	h, err := openHistory(o.csv, o.kind)
	if err != nil {
		return nil, nil, nil, err
	}
	m, held, err = h.split(o.holdout)
	return m, held, h.notes, err
}

func run(ctx context.Context, o options) (*report, error) {
	p, err := newProblem(o)
	if err != nil {
		return nil, err
	}
	if o.weights != "" { // better now than after the run
		f, err := os.OpenFile(o.weights, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	r := &report{Assets: p.law.Sites(), Samples: o.samples, Steps: o.steps, Budget: o.budget, Question: o.question, Seed: o.seed, Names: p.law.names, Notes: p.notes, scale: p.scale()}
	if r.Methods, err = p.all(ctx); err != nil {
		return nil, err
	}
	runs := [][]figures{r.Methods}
	for k := 1; k < o.seeds; k++ {
		o.seed++
		if p, err = newProblem(o); err != nil {
			return nil, err
		}
		more, err := p.all(ctx)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.seed, err)
		}
		runs = append(runs, more)
	}
	if o.seeds > 1 {
		r.Spread = spreads(runs, r.scale)
	}
	if o.weights != "" {
		if err := r.write(o.weights); err != nil {
			return nil, err
		}
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o777); err != nil {
			return nil, err
		}
		if err := r.write(filepath.Join(o.Dir, "weights.csv")); err != nil {
			return nil, err
		}
		if err := r.draw(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func main() {
	command.Main("portfolio", parse, run)
}

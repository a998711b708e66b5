// Power allocates power to interfering transmitters so that every user has a minimum rate on
// average over samples. This is the wireless problem of Hadou, Uslu and Ribeiro (2026). The
// program solves it by primal–dual inference and by the methods with which the paper compares
// it. It reports standard errors over networks.
//
//	go -C examples run ./power
//	go -C examples run ./power -users 200 -samples 8
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	users, fades, slots, samples, chain, steps, candidates, rounds, warmup, seeds int
	spacing, least, cold                                                          float64
	again                                                                         bool
	bounds                                                                        []float64
	variants                                                                      []variant
	// title of the study; "" without -study
	question string
	seed     uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("power", flag.ContinueOnError)
	f.IntVar(&o.users, "users", 20, "number of transmitter–receiver pairs; 200 in the paper")
	f.Float64Var(&o.spacing, "spacing", 290, "side of the area per pair, in metres; 290 in the authors' program (4100 m for 200 pairs), 410 in the paper (5800 m)")
	f.IntVar(&o.fades, "fades", 8, "fading draws over which rates are averaged; 50 in the paper")
	f.IntVar(&o.slots, "slots", 500, "new fading draws on which samples are evaluated, as in the paper; 0 reuses those of -fades")
	f.Float64Var(&o.least, "least", 0.6, "minimum average rate of every user, in bit/s/Hz")
	f.Float64Var(&o.cold, "cold", 1, "inverse temperature 1/β")
	f.IntVar(&o.samples, "samples", 20, "samples of the powers over which rates are averaged; 200 in the paper")
	f.IntVar(&o.chain, "chain", 20, "samples that share multipliers")
	f.IntVar(&o.steps, "steps", 500, "steps of the diffusion and of Langevin chains")
	f.IntVar(&o.candidates, "candidates", 8, "candidates of the Monte Carlo score")
	f.BoolVar(&o.again, "again", false, "predict again after the multipliers have moved, as in the paper's Algorithm 2, at twice the cost; the authors' program predicts once")
	f.IntVar(&o.rounds, "rounds", 24, "training rounds of the networks")
	f.IntVar(&o.warmup, "warmup", 500, "steps of the Langevin chains before ST learns from their states")
	chosen := f.String("method", strings.Join(usual, ","), "`methods` to run, of "+strings.Join(names(methods), ", ")+"; or all")
	about := f.String("study", "", "answer a `question` instead of comparing methods: "+questions())
	bounds := f.String("bounds", "0.65,0.7,0.75,0.8,0.85", "minimum `rates` for -study bounds")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the first network and its samples")
	f.IntVar(&o.seeds, "seeds", 3, "number of networks over which figures are averaged")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, n := range []struct {
		name              string
		value, from, most int
	}{
		{"users", o.users, 1, 1000}, {"fades", o.fades, 1, 1000}, {"slots", o.slots, 0, 1 << 20}, {"samples", o.samples, 1, 1 << 20}, {"chain", o.chain, 1, 1 << 16},
		{"steps", o.steps, 1, 1 << 20}, {"candidates", o.candidates, 1, 1 << 16}, {"rounds", o.rounds, 1, 1 << 16}, {"warmup", o.warmup, 0, 1 << 20}, {"seeds", o.seeds, 1, 1 << 16},
	} {
		if n.value < n.from || n.value > n.most {
			return o, fmt.Errorf("-%s = %d, want %d to %d", n.name, n.value, n.from, n.most)
		}
	}
	for _, n := range []struct {
		name  string
		value float64
	}{{"spacing", o.spacing}, {"cold", o.cold}} {
		if !(n.value > 0) || math.IsInf(n.value, 1) {
			return o, fmt.Errorf("-%s = %v, want > 0 and finite", n.name, n.value)
		}
	}
	if !(o.least >= 0) || math.IsInf(o.least, 1) {
		return o, fmt.Errorf("-least = %v, want ≥ 0 and finite", o.least)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	for _, b := range strings.Split(*bounds, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(b), 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 1) {
			return o, fmt.Errorf("-bounds: %q, want rates ≥ 0 and finite, separated by commas", b)
		}
		o.bounds = append(o.bounds, v)
	}
	return o, o.choose(*chosen, *about)
}

// usual lists the default methods: those whose networks train quickly.
var usual = []string{"pdi", "pdl", "pdl-shared", "pdm", "dps", "unconstrained"}

// names returns the names of variants.
func names(of []variant) (all []string) {
	for _, v := range of {
		all = append(all, v.name)
	}
	return all
}

// questions describes the studies for messages.
func questions() string {
	var b strings.Builder
	for k, s := range studies {
		if k > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s (%s)", s.name, s.words)
	}
	return b.String()
}

// choose sets the variants to run from -method and -study.
func (o *options) choose(chosen, about string) error {
	if about != "" {
		k := slices.IndexFunc(studies, func(s study) bool { return s.name == about })
		if k < 0 {
			return fmt.Errorf("-study: no question %q; there are %s", about, questions())
		}
		o.variants, o.question = studies[k].variants(*o), studies[k].words
		return nil
	}
	if chosen == "all" {
		o.variants = methods
		return nil
	}
	for _, m := range strings.Split(chosen, ",") {
		m = strings.TrimSpace(m)
		k := slices.Index(names(methods), m)
		switch {
		case k < 0:
			return fmt.Errorf("-method: no method %q; there are %s", m, strings.Join(names(methods), ", "))
		case slices.Contains(names(o.variants), m):
			return fmt.Errorf("-method: %q twice", m)
		}
		o.variants = append(o.variants, methods[k])
	}
	return nil
}

func run(ctx context.Context, o options) (*report, error) {
	r := &report{Users: o.users, Fades: o.fades, Slots: o.slots, Samples: o.samples, Steps: o.steps, Least: o.least, Question: o.question, Seed: o.seed, Seeds: o.seeds}
	runs := make([][]figures, len(o.variants))
	for range o.seeds {
		p, err := newProblem(o)
		if err != nil {
			return nil, err
		}
		for k, v := range o.variants {
			f, err := p.solve(ctx, v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
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
		return r, r.draw()
	}
	return r, nil
}

func main() {
	command.Main("power", parse, run)
}

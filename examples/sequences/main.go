// Sequences learns a Markov chain from strings, by default from all small organic molecules in
// SMILES, and generates new strings by diffusion. It compares a run without a constraint with runs
// that constrain the syntax, the novelty, a count, a match of a regular expression, or a score. For
// the score, a fitted model guides the search. The program reports validity, novelty, uniqueness
// and violations for each run.
//
//	go -C examples run ./sequences
//	go -C examples run ./sequences -data strings.txt -n 500 -dump samples.tsv
package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
)

// options holds the command-line options.
type options struct {
	command.Output
	checkpoint.Flags

	data, dump, count, regex, runs    string
	process                           string
	n, atoms, order, steps, particles int
	ordered                           bool // whether -order was given
	threshold, smoothing              float64
	seed                              uint64
}

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("sequences", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "learn from the lines of this `file` (up to a comma) instead of small molecules")
	f.IntVar(&o.atoms, "atoms", 6, "size of the largest molecules that the program makes itself, not counting hydrogen; each additional atom takes ten times as long")
	f.IntVar(&o.n, "n", 500, "samples per run")
	f.StringVar(&o.runs, "run", "unconstrained,syntax,novel,count,regex,score", "`runs` to make")
	f.IntVar(&o.order, "order", mostOrder, "number of tokens that the chain remembers; unless this is given, fewer where a prediction would take too long")
	f.Float64Var(&o.smoothing, "smoothing", 0.001, "number added to every count of the chain, so that nothing is impossible")
	f.IntVar(&o.steps, "steps", 24, "steps of the score run; other runs, and -process first-hitting, reveal one token per step")
	f.StringVar(&o.process, "process", firstHitting, "`noise` of the score run: masked, first-hitting, remask or uniform")
	f.IntVar(&o.particles, "particles", 1, "particles per sample of the syntax, count and regex runs: more of them bring the distribution closer to that of the chain given the constraint")
	f.StringVar(&o.count, "count", "", "`letter=number` for the count run; by default N=2, or the most common letter if there is no N")
	f.StringVar(&o.regex, "regex", "", "`pattern` of the regex run; by default a carbonyl, or the most common first letter where no carbonyl is possible")
	f.Float64Var(&o.threshold, "threshold", -1, "minimum polarity for the score run; −1 means the polarity that a tenth of the training strings reach")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the split and the samples")
	f.StringVar(&o.dump, "dump", "", "write every generated string to this `file`, one per line: the name of its run, a tab, the string")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	f.Visit(func(g *flag.Flag) { o.ordered = o.ordered || g.Name == "order" })
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.n < 1 || o.steps < 1 || o.particles < 1:
		return o, fmt.Errorf("-n = %d, -steps = %d, -particles = %d, want ≥ 1", o.n, o.steps, o.particles)
	case o.atoms < 1 || o.atoms > mostAtoms:
		return o, fmt.Errorf("-atoms = %d, want 1 … %d", o.atoms, mostAtoms)
	case !slices.Contains(processes, o.process):
		return o, fmt.Errorf("-process = %q, want one of %s", o.process, strings.Join(processes, ", "))
	case o.order < 0:
		return o, fmt.Errorf("-order = %d, want ≥ 0", o.order)
	case !(o.smoothing > 0):
		return o, fmt.Errorf("-smoothing = %v, want > 0", o.smoothing)
	}
	return o, nil
}

// mostOrder is the maximum order of the Markov chain. mostWork bounds the products of one
// prediction, sites · levels^(order+1), which then takes about a twentieth of a second.
const (
	mostOrder = 3
	mostWork  = 1 << 25
)

// affordable returns the greatest order, at most mostOrder, at which a prediction needs at most
// mostWork products.
func affordable(sites, levels int) (order int) {
	for work := sites * levels; order < mostOrder && work <= mostWork/levels; order++ {
		work *= levels
	}
	return order
}

// mostAtoms is the maximum of -atoms. It limits the memory for the list of molecules, which for
// 9 atoms would have tens of millions of entries.
const mostAtoms = 8

func run(ctx context.Context, o options) (*report, error) {
	c, err := corpus.Load(o.data, o.atoms, o.seed)
	if err != nil {
		return nil, err
	}
	if !o.ordered {
		o.order = affordable(c.Sites, c.Levels)
	}
	m, err := model.FitMarkov(c.Sites, c.Levels, o.order, c.TrainX, o.smoothing)
	if err != nil {
		return nil, fmt.Errorf("-order = %d: %w", o.order, err)
	}
	all, err := jobs(ctx, c, o)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for k, j := range all {
		names[k] = j.name
	}
	wanted, err := command.Choose(o.runs, names)
	if err != nil {
		return nil, err
	}
	r := newReport(c, o)
	for _, j := range all {
		if !wanted[j.name] {
			continue
		}
		out, x, failed, seconds, err := generate(ctx, c, m, j, o)
		if err != nil {
			return nil, err
		}
		r.add(c, m, j, out, x, failed, seconds)
	}
	return r, r.write(c, o)
}

func main() {
	command.Main("sequences", parseFlags, run)
}

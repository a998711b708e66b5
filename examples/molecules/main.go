// Molecules trains a masked diffusion transformer on strings, by default on all small organic
// molecules in SMILES, and generates new strings. A run is unconstrained or has one constraint:
// correct syntax, novelty, a count of symbols, a regular expression, a large polar surface, or ease
// of synthesis (accessible). Two more runs favour a large surface by classifier-free guidance (cfg)
// and by a classifier (cbg), with separate networks. Validity, novelty, uniqueness and violations
// are evaluated as in the program sequences, with the network in place of its Markov chain.
//
//	go -C examples run ./molecules
//	go -C examples run ./molecules -data qm9.csv -n 1024 -dump samples.tsv -json
//	go -C examples run ./molecules -data strings.txt -train -steps 20000 -minutes 60 -checkpoint run.ckpt -weights run.safetensors
//	go -C examples run ./molecules -data strings.txt -weights run.safetensors -n 1024 -dump samples.tsv
//
//	go -C examples run ./molecules -forget rings -share 0.1 -save forgot.safetensors
//
// With -forget it changes the weights of a network until at most a given share of its samples has
// a concept, such as rings. It then evaluates fresh samples of the new network. With -method it
// compares unlearning methods and measures how fast a network relearns the concept:
//
//	go -C examples run ./molecules -forget rings -share 0.0985 -method all -seeds 3
//
// Without -train and -weights it uses embedded networks: for small molecules and, with -data, for
// QM9 (Ramakrishnan et al. 2014). The user provides the QM9 file, with SMILES in Kekulé form in
// the order of their indices. The networks were trained by
//
//	go -C examples run ./molecules -train -run cfg,cbg -weights molecules/weights.safetensors
//	go -C examples run ./molecules -data qm9.csv -train -steps 95000 -batch 32 -rate 1e-3 -width 128 -blocks 4 -guide 12000 -run cfg,cbg -weights molecules/qm9.safetensors
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	data, checkpoint, weights                 string
	dump, count, regex, runs                  string
	forget, save                              string
	methods                                   []string
	seeds, rank                               int
	train                                     bool
	atoms, steps, guide, batch, width, blocks int
	every                                     int
	n, judged                                 int
	minutes, rate, lean, scale, start, share  float64
	seed                                      uint64
	shares, thresholds                        []float64
}

// comparing reports whether unlearning methods are compared.
func (o options) comparing() bool {
	return o.seeds != 1 || !slices.Equal(o.methods, []string{primalDual})
}

// ownAtoms is the number of atoms of the molecules for which the embedded weights were trained.
const ownAtoms = 6

// ownLean is the value of -lean with which the embedded guidance networks were trained.
const ownLean = 0.2

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("molecules", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "learn from the strings in this `file`, one per line (up to a comma, or the column smiles), instead of small molecules; without -train and -weights it must be QM9 or a part of it")
	f.IntVar(&o.atoms, "atoms", ownAtoms, "size of the largest molecules that the program makes itself, not counting hydrogen; each additional atom takes ten times as long")
	f.BoolVar(&o.train, "train", false, "train a network")
	f.IntVar(&o.steps, "steps", 2000, "total number of training steps; -minutes may leave some of them for a later run")
	f.IntVar(&o.guide, "guide", 0, "training steps of the network of cfg runs, four times as many as of the classifier of cbg runs; 0 means as many as -steps")
	f.Float64Var(&o.minutes, "minutes", 0, "stop training after this many `minutes`; 0 means after -steps")
	f.StringVar(&o.checkpoint, "checkpoint", "", "continue the training in this `file`, if there is one, and save it there")
	f.StringVar(&o.weights, "weights", "", "with -train, write the weights to this `file`; otherwise read them from it")
	f.IntVar(&o.batch, "batch", 64, "strings per step")
	f.IntVar(&o.width, "width", 64, "width of the network, a multiple of 32")
	f.IntVar(&o.blocks, "blocks", 3, "blocks of the network")
	f.Float64Var(&o.rate, "rate", 2e-3, "learning rate")
	f.IntVar(&o.n, "n", 500, "samples per run")
	f.StringVar(&o.runs, "run", "unconstrained,syntax,novel,count,regex,"+surface, "`runs` to make; others are "+accessible+", "+free+" and "+led)
	shares := f.String("surface", "0.5,0.2,0.05", "a surface run asks for the polar surface that each of these `shares` of the training molecules reaches")
	thresholds := f.String("accessible", "3,3.5,4,4.5", "an accessible run asks for at most each of these `scores` of synthetic accessibility, from 1 (easy) to 10 (difficult), by the fragments of the training molecules; the scale is fitted to QM9, so for other molecules the scores are only a ranking")
	f.Float64Var(&o.lean, "lean", ownLean, "cfg and cbg runs favour the polar surface that this `share` of the training molecules reaches")
	f.Float64Var(&o.scale, "scale", 2, "guidance `weight`; 1 adds no emphasis to the condition")
	f.StringVar(&o.count, "count", "", "`letter=number` for the count run; by default N=2, or the most common letter if there is no N")
	f.StringVar(&o.regex, "regex", "", "`pattern` of the regex run; by default a carbonyl, or the most common first letter where no carbonyl is possible")
	f.IntVar(&o.every, "every", 1, "project every this many `steps` of the diffusion and in the last one; -1 projects in the last one only")
	f.Float64Var(&o.start, "start", 1, "start projecting at this `time`: 1 is pure noise, 0 the sample")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the samples and, for networks that do not come with the program, of the split and the training")
	f.StringVar(&o.forget, "forget", "", "make the network forget a `concept`: rings, nitrogen, triple (bonds), comma-separated letters of the strings, or =STRING, a string of the data that the network first learns by heart as a fifth of the data")
	f.Float64Var(&o.share, "share", 0.1, "maximum `share` of the samples that may show the forgotten concept")
	f.IntVar(&o.judged, "judge", 0, "samples that measure what was forgotten; 0 means enough to know the share to within 5 %")
	method := f.String("method", primalDual, "methods of forgetting to compare (`ways`), comma-separated, or all: "+strings.Join(methodNames(), ", "))
	f.IntVar(&o.seeds, "seeds", 1, "`number` of seeds, starting with -seed, over which methods of forgetting are compared")
	f.IntVar(&o.rank, "rank", 0, "forget by low-rank changes (LoRA) of this `rank`, at ten times the learning rate; 0 changes all weights")
	f.StringVar(&o.save, "save", "", "write the weights of the network to this `file` once it has forgotten")
	f.StringVar(&o.dump, "dump", "", "write every generated string to this `file`, one per line: the name of its run, a tab, the string")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.shares, err = parseNumbers("-surface", *shares, 1); err != nil {
		return o, err
	}
	if o.thresholds, err = parseNumbers("-accessible", *thresholds, 10); err != nil {
		return o, err
	}
	if o.methods, err = chosen(*method); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.guide < 0:
		return o, fmt.Errorf("-guide = %d, want ≥ 0", o.guide)
	case o.n < 1 || o.steps < 1 || o.batch < 1:
		return o, fmt.Errorf("-n = %d, -steps = %d, -batch = %d, want ≥ 1", o.n, o.steps, o.batch)
	case o.atoms < 1 || o.atoms > mostAtoms:
		return o, fmt.Errorf("-atoms = %d, want 1 … %d", o.atoms, mostAtoms)
	case o.width < head || o.width%head != 0:
		return o, fmt.Errorf("-width = %d, want a multiple of %d", o.width, head)
	case o.blocks < 1:
		return o, fmt.Errorf("-blocks = %d, want ≥ 1", o.blocks)
	case !(o.minutes >= 0) || !(o.rate > 0):
		return o, fmt.Errorf("-minutes = %v, -rate = %v, want ≥ 0 and > 0", o.minutes, o.rate)
	case !(o.lean > 0 && o.lean <= 1) || !(o.scale >= 0) || math.IsInf(o.scale, 1):
		return o, fmt.Errorf("-lean = %v, -scale = %v, want 0 < lean ≤ 1 and a finite scale ≥ 0", o.lean, o.scale)
	case o.every < -1 || o.every == 0 || !(o.start > 0 && o.start <= 1):
		return o, fmt.Errorf("-every = %d, -start = %v, want ≥ 1 or -1, and 0 < start ≤ 1", o.every, o.start)
	case o.checkpoint != "" && !o.train && o.forget == "":
		return o, fmt.Errorf("-checkpoint without -train or -forget")
	case o.save != "" && o.forget == "":
		return o, fmt.Errorf("-save without -forget: -train writes to -weights")
	case o.forget != "" && o.train:
		return o, fmt.Errorf("-forget with -train: -train -weights FILE first, then -forget with -weights FILE")
	case o.forget != "" && !(o.share > 0 && o.share < 1):
		return o, fmt.Errorf("-share = %v, want in (0, 1): a share of 0 needs a rule, such as -run count or -run regex, instead of a network", o.share)
	case o.seeds < 1:
		return o, fmt.Errorf("-seeds = %d, want ≥ 1", o.seeds)
	case o.comparing() && (o.forget == "" || o.checkpoint != "" || o.save != "" || o.dump != ""):
		return o, fmt.Errorf("-method = %s, -seeds = %d: a comparison needs -forget and excludes -checkpoint, -save and -dump", *method, o.seeds)
	case o.rank < 0 || o.rank > 0 && (o.forget == "" || o.methods[0] != primalDual):
		return o, fmt.Errorf("-rank = %d, want ≥ 0, and -forget with -method %s", o.rank, primalDual)
	case o.judged < 0:
		return o, fmt.Errorf("-judge = %d, want ≥ 0", o.judged)
	case !o.train && o.weights == "" && (o.atoms != ownAtoms || o.lean != ownLean):
		return o, fmt.Errorf("-atoms = %d, -lean = %v, want %d and %v, for which the program's own networks were trained; train others by -train, or read them by -weights", o.atoms, o.lean, ownAtoms, ownLean)
	}
	return o, nil
}

const (
	// maximum of -atoms, as in sequences: with 9 atoms there would be tens of millions of
	// molecules
	mostAtoms = 8
	head      = 32 // width of an attention head
)

func run(ctx context.Context, o options) (*report, error) {
	c, own, err := o.load()
	if err != nil {
		return nil, err
	}
	least := o.leans(c, own)
	score := inaccessibility(c)
	all, err := jobs(ctx, c, least, score, o)
	if err != nil {
		return nil, err
	}
	names := []string{surface, accessible, free, led} // of which there may be several, or none if the data are no molecules
	for _, j := range all {
		if name, _, several := strings.Cut(j.name, " "); !several && j.guide == "" {
			names = append(names, name)
		}
	}
	wanted, err := command.Choose(o.runs, names)
	if err != nil {
		return nil, err
	}
	if !c.Chemical {
		wanted[free], wanted[led], wanted[accessible] = false, false, false
	}
	nets, r, err := learned(ctx, c, own, wanted, least, o)
	if err != nil {
		return nil, err
	}
	if wanted[accessible] {
		r.score, r.Thresholds = score, o.thresholds
	}
	for _, j := range all {
		if name, _, _ := strings.Cut(j.name, " "); !wanted[name] {
			continue
		}
		out, failed, seconds, err := generate(ctx, c, nets, j, o)
		if err != nil {
			return nil, err
		}
		r.add(c, j, out, failed, seconds)
	}
	if o.Dir != "" {
		if err := r.draw(); err != nil {
			return nil, err
		}
	}
	if o.dump != "" {
		return r, r.dump(o.dump)
	}
	return r, nil
}

func main() {
	command.Main("molecules", parseFlags, func(ctx context.Context, o options) (fmt.Stringer, error) {
		switch {
		case o.comparing():
			return compare(ctx, o)
		case o.forget != "":
			return forget(ctx, o)
		}
		return run(ctx, o)
	})
}

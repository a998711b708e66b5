// Text trains a masked diffusion transformer on lines of text and generates lines with it. Tokens
// are bytes, or are learned from the lines (-tokens). Without -data it trains on the lines of a log
// that it generates. Generated lines are unconstrained, or restricted to a regular expression, a
// JSON Schema, or given words and numbers of words, characters and sentences. Every step of the
// diffusion is conditioned exactly, so that every sample satisfies the restriction. With -study it
// compares methods as the language half of Cardei et al. 2025 does.
//
//	go -C examples run ./text
//	go -C examples run ./text -data book.txt -minutes 5 -checkpoint run.ckpt -weights run.safetensors
//	go -C examples run ./text -data book.txt -weights run.safetensors -regex '[A-Z][a-z]+, .* is the .*[.]' -n 20
//	go -C examples run ./text -schema schema.json -run schema
//	go -C examples run ./text -run words -words 4-6 -word-lengths 2-7 -last ms -regex '1.*'
//	go -C examples run ./text -data book.txt -tokens 2000 -length 16 -weights run.safetensors -train -study tasks,period
//
// The program trains unless -weights is given without -train. With -checkpoint it saves the
// training, and a later run continues it with bit-identical results. -weights names a .safetensors
// file, which is read or, with -train, written.
package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output
	asked

	data, checkpoint, weights  string
	regex, schema, runs, dump  string
	train                      bool
	length, steps, batch       int
	tokens, next, seeds        int
	studies                    string
	width, blocks, n, moves    int
	minutes, rate, temperature float64
	hide                       float64
	seed                       uint64
}

// head is the width of an attention head.
const head = 32

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("text", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "learn from the lines of this `file` instead of a generated log")
	f.IntVar(&o.length, "length", 48, "maximum number of bytes in a line, or of tokens with -tokens; longer ones are cut at a space")
	f.IntVar(&o.tokens, "tokens", 0, "learn a byte-pair encoding of this many `tokens` from the training lines; the network is then also given which half of the file a line is from; 0 means bytes")
	f.BoolVar(&o.train, "train", false, "train a network and write it to -weights")
	f.IntVar(&o.steps, "steps", 600, "total number of training steps; -minutes may leave some of them for a later run")
	f.Float64Var(&o.minutes, "minutes", 0, "stop training after this many `minutes`; 0 means after -steps")
	f.StringVar(&o.checkpoint, "checkpoint", "", "continue the training in this `file`, if there is one, and save it there")
	f.StringVar(&o.weights, "weights", "", "with -train, write the weights to this `file`; otherwise read them from it")
	f.IntVar(&o.next, "next", 0, "training steps of the autoregressive network, which the run next and the studies tasks and period use; 0 means -steps")
	f.StringVar(&o.studies, "study", "", "`studies` to make instead of runs: "+questions())
	f.IntVar(&o.seeds, "seeds", 3, "number of seeds of the samples of a study")
	f.IntVar(&o.batch, "batch", 32, "lines per step")
	f.IntVar(&o.width, "width", 64, "width of the network, a multiple of 32")
	f.IntVar(&o.blocks, "blocks", 2, "blocks of the network")
	f.Float64Var(&o.rate, "rate", 3e-3, "learning rate")
	f.StringVar(&o.regex, "regex", "", "`pattern` of the regex run and, if given, of the words run; without it, the regex run asks for an error of the generated log or, with -data, for a line that begins with a capital and ends with a full stop")
	f.StringVar(&o.schema, "schema", "", "`file` with the JSON Schema of the schema run; default an object with a level and a message")
	f.StringVar(&o.runs, "run", "", "`runs` to make; default free,regex,schema, or free,words if an option of the words run is given. A line of the words run satisfies all of them at once")
	f.IntVar(&o.n, "n", 20, "samples per run")
	f.Float64Var(&o.temperature, "temperature", 1, "`temperature` of the predictions; below 1 they are more certain")
	f.Float64Var(&o.hide, "hide", 0.25, "`share` of the bytes of held-out lines that the runs infill, gibbs, gwg, dula and dlp fill in")
	f.IntVar(&o.moves, "moves", 50, "steps of each chain of the runs gibbs, gwg, dula and dlp")
	f.StringVar(&o.dump, "dump", "", "write every sample to this `file`, one per line: the name of its run, a tab, the sample")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the split, the training and the samples")
	o.define(f)
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.train = o.train || o.weights == ""
	option, value := o.first()
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.seeds < 1 || o.next < 0:
		return o, fmt.Errorf("-seeds = %d, -next = %d, want ≥ 1 and ≥ 0", o.seeds, o.next)
	case o.studies != "" && o.runs != "":
		return o, fmt.Errorf("-study = %q with -run = %q, want only one of them", o.studies, o.runs)
	case o.studies != "" && option != "":
		return o, fmt.Errorf("-study = %q with %s = %q, want no option of the words run", o.studies, option, value)
	case o.studies != "" && o.temperature != 1:
		return o, fmt.Errorf("-study with -temperature = %v, want 1", o.temperature)
	case o.n < 1 || o.steps < 1 || o.batch < 1:
		return o, fmt.Errorf("-n = %d, -steps = %d, -batch = %d, want ≥ 1", o.n, o.steps, o.batch)
	case o.length < 2 || o.length > 1024:
		return o, fmt.Errorf("-length = %d, want 2 … 1024", o.length)
	case o.tokens != 0 && (o.tokens < 256 || o.tokens > 1<<16):
		return o, fmt.Errorf("-tokens = %d, want 0 or 256 … 65536", o.tokens)
	case o.width < head || o.width%head != 0:
		return o, fmt.Errorf("-width = %d, want a multiple of %d", o.width, head)
	case o.blocks < 1:
		return o, fmt.Errorf("-blocks = %d, want ≥ 1", o.blocks)
	case !(o.minutes >= 0) || !(o.rate > 0) || !(o.temperature > 0):
		return o, fmt.Errorf("-minutes = %v, -rate = %v, -temperature = %v, want ≥ 0, > 0 and > 0", o.minutes, o.rate, o.temperature)
	case !(o.hide > 0 && o.hide <= 1) || o.moves < 2:
		return o, fmt.Errorf("-hide = %v, -moves = %d, want 0 < hide ≤ 1 and ≥ 2", o.hide, o.moves)
	case o.checkpoint != "" && !o.train:
		return o, fmt.Errorf("-checkpoint with -weights and without -train")
	}
	if err := o.scan(); err != nil {
		return o, err
	}
	if o.runs == "" && o.studies == "" {
		o.runs = "free,regex,schema"
		if o.any() {
			o.runs = "free,words"
		}
	}
	return o, nil
}

func run(ctx context.Context, o options) (*report, error) {
	wanted, about := map[string]bool{}, map[string]bool{}
	var err error
	if o.studies != "" {
		for name := range strings.SplitSeq(o.studies, ",") {
			if !slices.ContainsFunc(studies, func(q question) bool { return q.name == name }) {
				return nil, fmt.Errorf("-study: no study %q; there are %s", name, questions())
			}
			about[name] = true
		}
	} else {
		wanted, err = command.Choose(o.runs, append([]string{"free", "regex", "words", "schema", left}, fillRuns...))
	}
	if err != nil {
		return nil, err
	}
	switch {
	case wanted["words"] && !o.any():
		return nil, fmt.Errorf("-run words, want an option of it: -words, -characters, -sentences, -word-lengths, -list, -at or -last")
	case o.any() && !wanted["words"]:
		return nil, fmt.Errorf("-run = %s with options of the words run, want words among the runs", o.runs)
	}
	l, err := read(o)
	if err != nil {
		return nil, err
	}
	all, err := jobs(ctx, l, wanted, o) // before the training: a pattern may be wrong
	if err != nil {
		return nil, err
	}
	r := &report{Data: l.name, Train: len(l.train), Held: len(l.held), Seed: o.seed, HeldPerplexity: l.judge.perplexity(l.held)}
	net, err := network(ctx, l, o, r)
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		if err := r.generate(ctx, net, j, l, o); err != nil {
			return nil, fmt.Errorf("%s: %w", j.name, err)
		}
	}
	if wanted[left] {
		if err := r.next(ctx, l, o); err != nil {
			return nil, fmt.Errorf("%s: %w", left, err)
		}
	}
	for _, name := range fillRuns {
		if wanted[name] {
			if err := r.fill(ctx, name, net, l, o); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, q := range studies {
		if about[q.name] {
			if err := r.study(ctx, q, net, l, o); err != nil {
				return nil, fmt.Errorf("-study %s: %w", q.name, err)
			}
		}
	}
	if o.Dir != "" {
		if err := r.draw(); err != nil {
			return nil, err
		}
	}
	if o.dump != "" {
		err = command.Dump(o.dump, func(yield func(run, sample string) bool) {
			for _, f := range r.Runs {
				for _, s := range f.Samples {
					if !yield(f.Name, strings.ReplaceAll(s, "\n", `\n`)) {
						return
					}
				}
			}
		})
	}
	return r, err
}

func main() {
	command.Main("text", parse, run)
}

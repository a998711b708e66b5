package main

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/training"
)

const (
	decay = 0.01 // weight decay

	// judged is the number of held-out strings from which the bound is estimated. Each is
	// corrupted draws times.
	judged = 2000
	draws  = 4
)

// networks holds the networks that generate samples. classes and classifier are nil unless a run
// needs them.
type networks struct{ plain, classes, classifier *neural.Transformer }

// part is a network to train: the suffix of its files, its shape, its loss, its number of steps,
// and the variable that receives it.
type part struct {
	suffix    string
	shape     neural.Config
	objective train.Objective
	steps     int
	net       **neural.Transformer
}

// learned returns the networks that the chosen runs need, embedded ones if there are any, and a
// report that describes the plain network. Guidance favours a polar surface of at least least.
func learned(ctx context.Context, c *corpus.Corpus, own *shipped, wanted map[string]bool, least float64, o options) (*networks, *report, error) {
	r := newReport(c, least, o)
	r.Warned = own.warnings(c)
	n := new(networks)
	shape := neural.Config{Length: c.Sites, Levels: c.Levels + 1, Width: o.width, Heads: o.width / head, Blocks: o.blocks, Positions: true}
	plain := train.Masked{Mask: mask(c)}
	parts := []part{{"", shape, plain, o.steps, &n.plain}}
	if wanted[free] || wanted[led] {
		parts = append(parts, guides(c, n, shape, plain, wanted, least, o)...)
	}
	var until time.Time
	if o.minutes > 0 {
		until = time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
	}
	for _, p := range parts {
		var err error
		switch {
		case o.train:
			err = fit(ctx, p, c, o, until, r)
		case o.weights != "":
			*p.net, err = neural.Open(o.weights+p.suffix, neural.Config{})
		default:
			*p.net, err = own.network(p.suffix)
		}
		if err != nil {
			return nil, nil, err
		}
		if err := fits(*p.net, c); err != nil {
			return nil, nil, err
		}
	}
	r.Weights = len(n.plain.Weights())
	held := flat(c, c.Held[:min(judged, len(c.Held))])
	var err error
	r.NLL, r.Error, err = train.Evaluate(ctx, n.plain, plain, held, draws, o.seed, runtime.GOMAXPROCS(0))
	return n, r, err
}

// mask returns the token that masks a position.
func mask(c *corpus.Corpus) int32 { return int32(c.Levels) }

// flat returns the concatenated tokens of the strings.
func flat(c *corpus.Corpus, all []string) []int32 {
	var x []int32
	for _, s := range all {
		x = append(x, c.Tokens(s)...)
	}
	return x
}

// fit trains a network, or continues from a checkpoint.
func fit(ctx context.Context, p part, c *corpus.Corpus, o options, until time.Time, r *report) error {
	net, err := neural.New(p.shape, rand.NewPCG(o.seed, 0))
	if err != nil {
		return err
	}
	t, err := train.New(net, p.objective, flat(c, c.Train), train.Config{
		Steps: p.steps, Batch: o.batch, Rate: o.rate, Decay: decay, Seed: o.seed,
	})
	if err != nil {
		return err
	}
	cfg := training.Config{Name: strings.TrimSpace("train " + strings.TrimPrefix(p.suffix, ".")), Steps: p.steps, Until: until}
	if o.checkpoint != "" {
		cfg.Checkpoint = o.checkpoint + p.suffix
	}
	if p.suffix == "" {
		cfg.Seen = func(step int, value float64) { r.losses = append(r.losses, loss{step, value}) }
	}
	start := time.Now()
	made, err := training.Run(ctx, t, cfg)
	if err != nil {
		return err
	}
	if p.suffix == "" {
		r.Steps, r.Seconds = t.Step(), time.Since(start).Seconds()
		if made > 0 {
			loss := t.Loss()
			r.Loss = &loss
		}
	}
	*p.net = t.Average()
	if o.weights != "" {
		return checkpoint.Write(o.weights+p.suffix, func(w io.Writer) error { return (*p.net).Write(w, neural.F16) })
	}
	return nil
}

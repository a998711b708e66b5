package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
)

// weights are the program's own, 16-bit numbers of a network trained by the
// command in the program's doc.
//
//go:embed weights.safetensors
var weights []byte

const (
	decay = 0.01 // of the weights
	every = 250  // steps between checkpoints

	// judged is the number of held-out strings that the bound is estimated
	// from, with draws corruptions each.
	judged = 2000
	draws  = 4
)

// network returns the network that the options ask for and a report that says
// what it is.
func network(ctx context.Context, c *corpus.Corpus, o options) (*neural.Transformer, *report, error) {
	r := newReport(c, o)
	var net *neural.Transformer
	var err error
	switch {
	case o.train:
		net, err = fit(ctx, c, o, r)
	case o.weights != "":
		net, err = neural.Open(o.weights, neural.Config{})
	default:
		var f *neural.File
		if f, err = neural.ReadFile("weights.safetensors", bytes.NewReader(weights), int64(len(weights))); err == nil {
			net, err = neural.Load(f, neural.Config{})
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if got := net.Config(); got.Length != c.Sites || got.Levels != c.Levels+1 {
		return nil, nil, fmt.Errorf("the network is for strings of %d of %d tokens, the data need %d of %d", got.Length, got.Levels, c.Sites, c.Levels+1)
	}
	r.Weights = len(net.Weights())
	held := flat(c, c.Held[:min(judged, len(c.Held))])
	r.NLL, r.Error, err = train.Evaluate(ctx, net, train.Masked{Mask: mask(c)}, held, draws, o.seed, runtime.GOMAXPROCS(0))
	return net, r, err
}

// mask is the token that stands for a hidden one.
func mask(c *corpus.Corpus) int32 { return int32(c.Levels) }

// flat returns the tokens of strings, one after the other.
func flat(c *corpus.Corpus, all []string) []int32 {
	var x []int32
	for _, s := range all {
		x = append(x, c.Tokens(s)...)
	}
	return x
}

// fit trains a network, or goes on where a checkpoint left off.
func fit(ctx context.Context, c *corpus.Corpus, o options, r *report) (*neural.Transformer, error) {
	net, err := neural.New(neural.Config{
		Length: c.Sites, Levels: c.Levels + 1, Width: o.width, Heads: o.width / head, Blocks: o.blocks, Positions: true,
	}, rand.NewPCG(o.seed, 0))
	if err != nil {
		return nil, err
	}
	t, err := train.New(net, train.Masked{Mask: mask(c)}, flat(c, c.Train), train.Config{
		Steps: o.steps, Batch: o.batch, Rate: o.rate, Decay: decay, Seed: o.seed,
	})
	if err != nil {
		return nil, err
	}
	if o.checkpoint != "" {
		if err := resume(t, o.checkpoint); err != nil {
			return nil, err
		}
	}
	bar := progress.New("train")
	defer bar.Done()
	start, from := time.Now(), t.Step()
	for t.Step() < o.steps {
		err := t.Run(ctx, min(10, o.steps-t.Step()))
		late := o.minutes > 0 && time.Since(start).Minutes() > o.minutes
		if o.checkpoint != "" && (err != nil && ctx.Err() != nil || late || t.Step()%every == 0 || t.Step() == o.steps) {
			if err := checkpoint.Write(o.checkpoint, t.Save); err != nil {
				return nil, err
			}
		}
		if err != nil {
			return nil, err
		}
		bar.Set(t.Step(), o.steps)
		r.losses = append(r.losses, loss{t.Step(), t.Loss()})
		if late {
			break
		}
	}
	r.Steps, r.Seconds = t.Step(), time.Since(start).Seconds()
	if t.Step() > from {
		loss := t.Loss()
		r.Loss = &loss
	}
	net = t.Average()
	if o.weights != "" {
		err = checkpoint.Write(o.weights, func(w io.Writer) error { return net.Write(w, neural.F16) })
	}
	return net, err
}

// resume loads a checkpoint if there is one.
func resume(t *train.Trainer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.Load(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

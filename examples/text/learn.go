package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/training"
)

// judged is the number of held-out lines from which the bound is estimated. Each is corrupted
// draws times.
const (
	judged = 300
	draws  = 2 // random corruptions of each line
)

// network trains a network or reads one, and adds its size and its likelihood bound to the
// report.
func network(ctx context.Context, l *lines, o options, r *report) (*neural.Transformer, error) {
	net, err := obtain(ctx, l, o, r)
	if err != nil {
		return nil, err
	}
	if c := net.Config(); c.Length != l.length || c.Levels != l.levels() {
		return nil, fmt.Errorf("%s: a network for %d sites of %d tokens, want -length %d sites of %d", o.weights, c.Length, c.Levels, l.length, l.levels())
	}
	r.Weights = len(net.Weights())
	held := l.held[:min(judged, len(l.held))]
	bytes := 0
	for _, s := range held {
		bytes += len(s) + 1 // and its end
	}
	nats, stderr, err := train.Evaluate(ctx, net, train.Masked{Mask: l.mask()}, l.states(held), draws, o.seed, runtime.GOMAXPROCS(0))
	r.NLL, r.Error = nats*float64(len(held))/float64(bytes), stderr*float64(len(held))/float64(bytes)
	return net, err
}

// features is the number of features by which a network gets the period of a line, and
// unconditional the share of the training lines whose period it does not get.
const (
	features      = 16
	unconditional = 0.5
)

// shape returns the shape of the networks.
func (l *lines) shape(o options) neural.Config {
	c := neural.Config{Length: l.length, Levels: l.levels(), Width: o.width, Heads: o.width / head, Blocks: o.blocks, Positions: true}
	if o.tokens > 0 {
		c.Cond, c.Classes = features, periods
	}
	return c
}

func obtain(ctx context.Context, l *lines, o options, r *report) (*neural.Transformer, error) {
	if !o.train {
		return neural.Open(o.weights, neural.Config{})
	}
	var objective train.Objective = train.Masked{Mask: l.mask()}
	if o.tokens > 0 {
		objective = train.Classes{Objective: objective, Labels: l.trainPeriod, Drop: unconditional}
	}
	net, err := neural.New(l.shape(o), rand.NewPCG(o.seed, 0))
	if err != nil {
		return nil, err
	}
	t, err := train.New(net, objective, l.states(l.train), train.Config{Steps: o.steps, Batch: o.batch, Rate: o.rate, Decay: 0.01, Average: average(o), Seed: o.seed})
	if err != nil {
		return nil, err
	}
	cfg := training.Config{Name: "train", Steps: o.steps, Checkpoint: o.checkpoint,
		Seen: func(step int, loss float64) { r.losses = append(r.losses, point{step, loss}) }}
	start := time.Now()
	if o.minutes > 0 {
		cfg.Until = start.Add(time.Duration(o.minutes * float64(time.Minute)))
	}
	if _, err := training.Run(ctx, t, cfg); err != nil {
		return nil, err
	}
	r.Steps, r.Seconds = t.Step(), time.Since(start).Seconds()
	net = t.Average()
	if o.weights != "" {
		err = checkpoint.Write(o.weights, func(w io.Writer) error { return net.Write(w, neural.F16) })
	}
	return net, err
}

// average returns the decay of the moving average of the weights, which covers a part of the
// training.
func average(o options) float64 {
	if o.tokens > 0 {
		return 0.999
	}
	return 0.99
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
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
	r.NLL, r.Error, err = l.loss(ctx, net, train.Masked{Mask: l.mask()}, draws, o.seed)
	return net, err
}

// loss returns the mean of an objective over held-out lines, in nats per byte and with the ends of
// lines as bytes, and its standard error. Each line is corrupted draws times.
func (l *lines) loss(ctx context.Context, net *neural.Transformer, objective train.Objective, draws int, seed uint64) (nats, stderr float64, err error) {
	held := l.held[:min(judged, len(l.held))]
	bytes := 0
	for _, s := range held {
		bytes += len(s) + 1
	}
	nats, stderr, err = train.Evaluate(ctx, net, objective, l.states(held), draws, seed, runtime.GOMAXPROCS(0))
	each := float64(len(held)) / float64(bytes)
	return nats * each, stderr * each, err
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

// part is a network to train or to read: the suffix of its files, its shape, its loss and its
// number of steps.
type part struct {
	suffix    string
	shape     neural.Config
	objective train.Objective
	steps     int
}

func obtain(ctx context.Context, l *lines, o options, r *report) (*neural.Transformer, error) {
	p := part{"", l.shape(o), train.Masked{Mask: l.mask()}, o.steps}
	if o.tokens > 0 {
		p.objective = train.Classes{Objective: p.objective, Labels: l.trainPeriod, Drop: unconditional}
	}
	start := time.Now()
	net, losses, err := p.learn(ctx, l, o)
	if err == nil && o.train {
		r.losses, r.Seconds = losses, time.Since(start).Seconds()
		r.Steps = o.steps
		if len(losses) > 0 {
			r.Steps = losses[len(losses)-1].step
		}
	}
	return net, err
}

// learn reads the network or trains it, from a checkpoint if there is one. It returns the losses
// of this training.
func (p part) learn(ctx context.Context, l *lines, o options) (*neural.Transformer, []point, error) {
	if !o.train {
		net, err := neural.Open(o.weights+p.suffix, neural.Config{})
		return net, nil, err
	}
	net, err := neural.New(p.shape, rand.NewPCG(o.seed, 0))
	if err != nil {
		return nil, nil, err
	}
	t, err := train.New(net, p.objective, l.states(l.train), train.Config{Steps: p.steps, Batch: o.batch, Rate: o.rate, Decay: 0.01, Average: average(o), Seed: o.seed})
	if err != nil {
		return nil, nil, err
	}
	var losses []point
	cfg := training.Config{Name: strings.TrimSpace("train " + strings.TrimPrefix(p.suffix, ".")), Steps: p.steps,
		Seen: func(step int, loss float64) { losses = append(losses, point{step, loss}) }}
	if o.checkpoint != "" {
		cfg.Checkpoint = o.checkpoint + p.suffix
	}
	if o.minutes > 0 {
		cfg.Until = time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
	}
	if _, err := training.Run(ctx, t, cfg); err != nil {
		return nil, nil, err
	}
	net = t.Average()
	if o.weights != "" {
		err = checkpoint.Write(o.weights+p.suffix, func(w io.Writer) error { return net.Write(w, neural.F16) })
	}
	return net, losses, err
}

// autoregressive returns the autoregressive network. The first call trains it or reads it; all
// parts of the report use the same one.
func (r *report) autoregressive(ctx context.Context, l *lines, o options) (*neural.Transformer, error) {
	if r.leftToRight != nil {
		return r.leftToRight, nil
	}
	shape := l.shape(o)
	shape.Cond, shape.Classes, shape.Block = 0, 0, 1
	net, _, err := part{".next", shape, next{l.mask()}, cmp.Or(o.next, o.steps)}.learn(ctx, l, o)
	if err != nil {
		return nil, err
	}
	r.leftToRight = net
	return net, nil
}

// average returns the decay of the moving average of the weights, which covers a part of the
// training.
func average(o options) float64 {
	if o.tokens > 0 {
		return 0.999
	}
	return 0.99
}

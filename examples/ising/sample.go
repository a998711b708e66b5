package main

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// enumerable is the maximum number of sites for which the exact answer is computed. Enumerating
// 2²⁵ states takes about a second.
const enumerable = 25

func sample(ctx context.Context, o options, p *problem, names []string) (*report, error) {
	r := newReport(p, o)
	if sites, _ := p.model.Shape(); sites <= enumerable {
		e, err := energy.Enumerate(ctx, p.model, energy.Magnetization)
		if err != nil {
			return nil, err
		}
		r.Exact = &exact{Mean: e.Means[0], LogZ: e.LogZ}
	}
	var runs []outcome
	for _, name := range names {
		out, err := sampleOne(ctx, o, p, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, out)
		r.Methods = append(r.Methods, out.figures())
	}
	if o.Dir != "" {
		if err := r.draw(p, runs); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// outcome holds the results of one kernel.
type outcome struct {
	name    string
	trace   *diagnose.Trace
	summary diagnose.Summary
	tuning  []string // settings that the kernel reports after tuning
	steps   int
	last    []int32
}

func sampleOne(ctx context.Context, o options, p *problem, name string) (outcome, error) {
	newTrace := diagnose.NewTrace
	if o.long() {
		newTrace = diagnose.NewStreamingTrace
	}
	trace := newTrace(energy.Magnetization).Name("mean spin")
	trace.Reserve(o.steps)
	bar := progress.New(name)
	warmup := o.warmup
	if warmup == 0 {
		warmup = -1 // on the command line 0 means none
	}
	ch, err := sampler.NewChains(ctx, p.model, o.kernels[name], sampler.Config{
		Chains: o.chains, Seed: o.seed, Warmup: warmup, Observe: trace.Observe,
	})
	if err != nil {
		return outcome{}, err
	}
	was := &checkpoint.Clock{}
	saved, err := o.Open(ctx, name, ch, checkpoint.Binary(trace), checkpoint.Value(o.Identity(), was))
	if err != nil {
		return outcome{}, err
	}
	if err := ch.Run(ctx, 0); err != nil { // warm-up alone
		return outcome{}, err
	}
	err = was.Run(o.steps, func(n int) error { return ch.Run(ctx, n) }, saved, bar.Set)
	bar.Done()
	if err != nil {
		return outcome{}, err
	}
	out := outcome{name: name, trace: trace, summary: trace.Summary(), steps: o.steps, last: ch.States(), tuning: ch.Warnings()}
	out.summary.Seconds = was.Seconds
	return out, nil
}

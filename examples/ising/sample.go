package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// enumerable is the number of sites up to which the exact answer is computed:
// 2²⁵ states take about a second.
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

// outcome is what one kernel did.
type outcome struct {
	name    string
	trace   *diagnose.Trace
	summary diagnose.Summary
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
	ch, err := sampler.NewChains(p.model, kernels[name], sampler.Config{
		Chains: o.chains, Seed: o.seed, Warmup: warmup, Observe: trace.Observe,
	})
	if err != nil {
		return outcome{}, err
	}
	was := &clock{}
	saved, err := o.Open(name, ch, checkpoint.Binary(trace), checkpoint.Value(o.Identity(), was))
	if err != nil {
		return outcome{}, err
	}
	if err := ch.Run(ctx, 0); err != nil { // warm-up alone
		return outcome{}, err
	}
	err = was.run(ctx, ch, o.steps, saved, bar)
	bar.Done()
	if err != nil {
		return outcome{}, err
	}
	out := outcome{name: name, trace: trace, summary: trace.Summary(), steps: o.steps, last: ch.States()}
	out.summary.Seconds = was.Seconds
	return out, nil
}

// clock is how far a run is and how long it took.
type clock struct {
	Steps   int
	Seconds float64
}

// looks is the number of times that a run looks whether it is time to save.
const looks = 200

// run makes the steps that are left, and saves on the way and at the end, also if
// it is interrupted.
func (c *clock) run(ctx context.Context, ch *sampler.Chains, steps int, saved *checkpoint.File, bar *progress.Bar) error {
	for c.Steps < steps {
		start := time.Now()
		n := min(max(1, steps/looks), steps-c.Steps)
		err := ch.Run(ctx, n)
		if err != nil {
			return err // the last file is of a whole number of looks
		}
		c.Steps += n
		c.Seconds += time.Since(start).Seconds()
		bar.Set(c.Steps, steps)
		if err := saved.Tick(); err != nil {
			return err
		}
	}
	return saved.Save()
}

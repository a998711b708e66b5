package main

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// watched bounds the nodes whose company is traced, and keptValues all values
// that a run may keep: half a gigabyte.
const (
	watched    = 64
	keptValues = 1 << 26
)

// outcome is what one kernel did.
type outcome struct {
	name    string
	trace   *diagnose.Trace
	summary diagnose.Summary // row 0: modularity; then company of node 1
	seconds float64          // without warm-up
	steps   int
	tally   []tally
}

// progressed is what a checkpoint keeps in addition to the chains and the trace.
type progressed struct {
	Clock checkpoint.Clock
	Tally []tally
}

// tally is what a chain saw. An observer is called for several chains at a time,
// so each has its own.
type tally struct {
	Best       []int32
	Q          float64
	Draws      int
	Unbalanced int       // draws off the count
	With       []float64 // draws in which each node was with the first
}

func sample(ctx context.Context, o options, c *community, name string) (*outcome, error) {
	m, err := c.model(o.beta)
	if err != nil {
		return nil, err
	}
	within := constraint.Count{Levels: []int32{1}, Min: o.size, Max: o.size}
	method, err := kernel(name, within)
	if err != nil {
		return nil, err
	}
	trace, err := newTrace(o, c)
	if err != nil {
		return nil, err
	}
	was := &progressed{Tally: make([]tally, o.chains)}
	for i := range was.Tally {
		was.Tally[i] = tally{Best: make([]int32, c.n), Q: math.Inf(-1), With: make([]float64, c.n)}
	}
	bar := progress.New(name)
	warmup := o.warmup
	if warmup == 0 {
		warmup = -1 // on the command line 0 means none
	}
	ch, err := sampler.NewChains(ctx, m, method, sampler.Config{
		Chains: o.chains, Seed: o.seed, Warmup: warmup,
		Observe: sampler.Observer(trace.Observe).And(func(chain, _ int, x []int32, _ *sampler.Info) {
			was.Tally[chain].see(c, o.size, x)
		}),
	})
	if err != nil {
		return nil, err
	}
	saved, err := o.Open(ctx, name, ch, checkpoint.Binary(trace), checkpoint.Value(o.Identity(), was))
	if err != nil {
		return nil, err
	}
	if err := ch.Run(ctx, 0); err != nil { // warm-up alone
		return nil, err
	}
	err = was.Clock.Run(o.steps, func(n int) error { return ch.Run(ctx, n) }, saved, bar.Set)
	bar.Done()
	if err != nil {
		return nil, err
	}
	out := &outcome{name: name, steps: o.steps, seconds: was.Clock.Seconds, tally: was.Tally}
	out.trace, out.summary = trace, trace.Summary()
	out.summary.Seconds = out.seconds
	return out, nil
}

// newTrace follows the modularity and, for each of the next nodes, whether it is
// with the first. None of these knows which side is called 1: exchanging the
// names changes no energy, and chains would disagree about them.
func newTrace(o options, c *community) (*diagnose.Trace, error) {
	f := []func(x []int32) float64{c.modularity}
	names := []string{"modularity"}
	for i := 1; i < min(c.n, watched); i++ {
		f = append(f, func(x []int32) float64 {
			if x[i] == x[0] {
				return 1
			}
			return 0
		})
		names = append(names, fmt.Sprintf("node %d with node 1", i+1))
	}
	if o.steps > keptValues/o.chains/len(f) {
		return nil, fmt.Errorf("-chains = %d, -steps = %d: %d figures are kept of every draw, want ≤ %d in all", o.chains, o.steps, len(f), keptValues)
	}
	t := diagnose.NewTrace(f...).Name(names...)
	t.Reserve(o.steps)
	return t, nil
}

func (t *tally) see(c *community, size int, x []int32) {
	t.Draws++
	if q := c.modularity(x); q > t.Q {
		t.Q = q
		copy(t.Best, x)
	}
	ones := 0
	for i, l := range x {
		ones += int(l)
		if l == x[0] {
			t.With[i]++
		}
	}
	if ones != size {
		t.Unbalanced++
	}
}

// best returns the partition of greatest modularity of all chains.
func (o *outcome) best() (x []int32, q float64) {
	q = math.Inf(-1)
	for _, t := range o.tally {
		if t.Q > q {
			x, q = t.Best, t.Q
		}
	}
	return x, q
}

// with returns how often each node was with the first.
func (o *outcome) with() []float64 {
	p := make([]float64, len(o.tally[0].With))
	draws := 0
	for _, t := range o.tally {
		draws += t.Draws
		for i, v := range t.With {
			p[i] += v
		}
	}
	for i := range p {
		p[i] /= float64(draws)
	}
	return p
}

func (o *outcome) unbalanced() int {
	n := 0
	for _, t := range o.tally {
		n += t.Unbalanced
	}
	return n
}

// rhat returns the greatest R-hat of all that was traced and is not constant;
// +Inf if chains are stuck at different values.
func (o *outcome) rhat() diagnose.Estimate {
	worst := diagnose.Estimate{Err: diagnose.ErrConstant}
	for _, row := range o.summary.Rows {
		if e := row.RHat; e.Defined() && (!worst.Defined() || e.Value > worst.Value) {
			worst = e
		}
	}
	return worst
}

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

// watched is the maximum number of nodes for which it is traced whether they are on the side of
// node 1. keptValues is the maximum number of values kept by a run: half a gigabyte.
const (
	watched    = 64
	keptValues = 1 << 26
)

// outcome holds the results of one kernel.
type outcome struct {
	name  string
	trace *diagnose.Trace
	// row 0: modularity; other rows: share of draws with a node on the side of node 1
	summary diagnose.Summary
	seconds float64 // sampling time without warm-up
	steps   int
	tally   []tally
}

// progressed is the data that a checkpoint stores in addition to the chains and the trace.
type progressed struct {
	Clock checkpoint.Clock
	Tally []tally
}

// tally holds the counts of one chain. The observer runs for several chains at once, so that
// each chain needs its own.
type tally struct {
	Best       []int32
	Q          float64
	Draws      int
	Unbalanced int       // draws with a wrong size
	With       []float64 // number of draws in which each node was on the side of node 1
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

// newTrace returns a trace of the modularity and, for each of the next nodes, of whether it is
// on the side of node 1. These functions do not depend on which side is called 1. Swapping the
// names does not change the energy, and chains would disagree about functions that depend on
// them.
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

// best returns the partition with the greatest modularity of all chains.
func (o *outcome) best() (x []int32, q float64) {
	q = math.Inf(-1)
	for _, t := range o.tally {
		if t.Q > q {
			x, q = t.Best, t.Q
		}
	}
	return x, q
}

// with returns, for each node, the share of draws in which it was on the side of node 1.
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

// rhat returns the largest R-hat of all traced values that are not constant, or +Inf if chains
// are stuck at different values.
func (o *outcome) rhat() diagnose.Estimate {
	worst := diagnose.Estimate{Err: diagnose.ErrConstant}
	for _, row := range o.summary.Rows {
		if e := row.RHat; e.Defined() && (!worst.Defined() || e.Value > worst.Value) {
			worst = e
		}
	}
	return worst
}

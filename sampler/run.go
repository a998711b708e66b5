package sampler

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// Blocks advance in rounds of a few steps, so that observers and progress see
// all chains at about the same step. A round is sized to last about this long,
// which also bounds what is left to do after the context ends.
const (
	roundTime = 2 * time.Millisecond
	maxRound  = 1 << 12
)

// advance brings every block to the given number of steps.
func (c *Runner[S]) advance(ctx context.Context, target int) error {
	if c.err != nil && ctx.Err() == nil && c.failed() {
		return c.err
	}
	if !c.ready {
		if err := c.Reset(); err != nil {
			return err
		}
	}
	begin := c.blocks[0].steps
	round := 1
	for at := begin; at < target; {
		end := min(at+round, target)
		start := time.Now()
		c.each(func(b *block[S]) { c.stepTo(ctx, b, end) })
		if ctx.Err() != nil {
			// Some blocks may be ahead by part of a round: level them.
			for i := range c.blocks {
				at = max(at, c.blocks[i].steps)
			}
			end = at
			c.each(func(b *block[S]) { c.stepTo(context.Background(), b, end) })
		}
		if c.err = c.failure(); c.err != nil {
			return c.err
		}
		at = end
		c.kept = max(c.kept, (at-c.cfg.Warmup)/c.cfg.Thin)
		if c.cfg.Progress != nil {
			c.cfg.Progress(at-begin, target-begin)
		}
		if c.err = ctx.Err(); c.err != nil && at < target {
			return c.err
		}
		switch took := time.Since(start); {
		case took < roundTime/2:
			round = min(2*round, maxRound)
		case took > 2*roundTime:
			round = max(round/2, 1)
		}
	}
	c.err = nil
	return nil
}

// each calls f for every block, from Config.Workers goroutines.
func (c *Runner[S]) each(f func(*block[S])) {
	pool.Each(c.cfg.Workers, len(c.blocks), func(i int) { f(&c.blocks[i]) })
}

// stepTo moves one block to the given number of steps, or until the context
// ends or a chain fails.
func (c *Runner[S]) stepTo(ctx context.Context, b *block[S], end int) {
	last := b.first + b.chains
	x := c.x[b.first*c.sites : last*c.sites]
	info := c.info[b.first:last]
	streams := c.streams[b.first:last]
	for b.steps < end && b.err == nil && ctx.Err() == nil {
		b.kernel.Step(info, x, streams)
		for i := range info {
			if err := info[i].Err; err != nil {
				b.err = fmt.Errorf("%s: %s: chain %d, step %d: %w", c.system.Name(), c.system, b.first+i, b.steps, err)
				return
			}
		}
		step := b.steps
		b.steps++
		if step < c.cfg.Warmup {
			if k, ok := b.kernel.(Adaptive); ok {
				k.Adapt(info, step, c.cfg.Warmup)
			}
			continue
		}
		b.stats.add(info)
		if after := b.steps - c.cfg.Warmup; c.observe != nil && after%c.cfg.Thin == 0 {
			for i := range info {
				c.observe(b.first+i, after/c.cfg.Thin-1, x[i*c.sites:(i+1)*c.sites], &info[i])
			}
		}
	}
}

// failure returns the error of the earliest step, the lowest chain first.
func (c *Runner[S]) failure() error {
	var first *block[S]
	for i := range c.blocks {
		if b := &c.blocks[i]; b.err != nil && (first == nil || b.steps < first.steps) {
			first = b
		}
	}
	if first == nil {
		return nil
	}
	return first.err
}

// failed reports whether some chain cannot go on.
func (c *Runner[S]) failed() bool { return c.failure() != nil }

// Run makes n draws per chain, Config.Thin steps apart, and tells the observer
// of each; the first Run warms up before that.
//
// If the context ends, Run returns its error with every chain at the same step:
// the states are valid and a later Run goes on from there. If a chain cannot go
// on, Run returns an error that names chain and step; the chains then are stuck
// until Reset.
func (c *Runner[S]) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("%s: Run: n = %d, want ≥ 0", c.system.Name(), n)
	}
	return c.advance(ctx, c.cfg.Warmup+(c.kept+n)*c.cfg.Thin)
}

// Draws returns an iterator that makes n draws, as Run does, and yields the
// states of all chains (chains × sites) after each. The slice is the runner's
// own: it is overwritten by the next draw and must not be modified. The loop
// ends early on an error; ask Err.
func (c *Runner[S]) Draws(ctx context.Context, n int) iter.Seq[[]S] {
	return func(yield func([]S) bool) {
		for range n {
			if c.Run(ctx, 1) != nil || !yield(c.x) {
				return
			}
		}
	}
}

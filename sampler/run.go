package sampler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Blocks advance in rounds of a few steps, so that observers and progress see
// all chains at about the same step. A round is sized to last about this long,
// which also bounds what is left to do after the context ends.
const (
	roundTime = 2 * time.Millisecond
	maxRound  = 1 << 12
)

// advance brings every block to the given number of steps.
func (c *Chains) advance(ctx context.Context, target int) error {
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
		c.each(func(b *block) { c.stepTo(ctx, b, end) })
		if ctx.Err() != nil {
			// Some blocks may be ahead by part of a round: level them.
			for i := range c.blocks {
				at = max(at, c.blocks[i].steps)
			}
			end = at
			c.each(func(b *block) { c.stepTo(context.Background(), b, end) })
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
func (c *Chains) each(f func(*block)) {
	workers := min(c.cfg.Workers, len(c.blocks))
	if workers == 1 {
		for i := range c.blocks {
			f(&c.blocks[i])
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(c.blocks) {
					return
				}
				f(&c.blocks[i])
			}
		})
	}
	wg.Wait()
}

// stepTo moves one block to the given number of steps, or until the context
// ends or a chain fails.
func (c *Chains) stepTo(ctx context.Context, b *block, end int) {
	last := b.first + b.chains
	x := c.x[b.first*c.sites : last*c.sites]
	info := c.info[b.first:last]
	streams := c.streams[b.first:last]
	for b.steps < end && b.err == nil && ctx.Err() == nil {
		b.kernel.Step(info, x, streams)
		for i := range info {
			if err := info[i].Err; err != nil {
				b.err = fmt.Errorf("sampler: %T: chain %d, step %d: %w", c.method, b.first+i, b.steps, err)
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
		if after := b.steps - c.cfg.Warmup; c.cfg.Observe != nil && after%c.cfg.Thin == 0 {
			for i := range info {
				c.cfg.Observe(b.first+i, after/c.cfg.Thin-1, x[i*c.sites:(i+1)*c.sites], &info[i])
			}
		}
	}
}

func (s *Stats) add(info []Info) {
	for i := range info {
		s.Accept += info[i].Accept
		s.Moved += float64(info[i].Moved)
		s.Invalid += info[i].Invalid
	}
	s.Steps += len(info)
}

// failure returns the error of the earliest step, the lowest chain first.
func (c *Chains) failure() error {
	var first *block
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
func (c *Chains) failed() bool { return c.failure() != nil }

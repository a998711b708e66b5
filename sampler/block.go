package sampler

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// block is the unit of work of one worker: a range of consecutive chains. The field first is the
// index of its first chain in this part of the run.
type block[S energy.Site] struct {
	first, chains int
	kernel        Transition[S]
	steps         int // steps made so far, including warm-up but not those of Runner.Warm
	warm          int // steps made of the warm-up begun by Runner.Warm; 0 outside one
	stats         Stats
	torn          bool // a panic interrupted the kernel in the middle of a step
	// kernel is already Reset, by an initial Reset of all blocks that was stopped early
	reset  bool
	asks   bool // kernel has called Control.Stop
	missed bool // a failure of another block made this block skip draws since the last Run
	err    error
	// workspace for the chains while the block moves; nil before its first turn
	near *place[S]
	_    [128]byte // padding, so that the counters of two blocks share no cache line
}

// closeBy is the largest number of entries of a block's states that are copied to the block's own
// workspace before it moves. Larger states are modified in place.
const closeBy = 1 << 14

// turn holds a block while a worker moves it, with workspaces for its states, info and streams.
type turn[S energy.Site] struct {
	place[S]
	run     *Runner[S]
	block   *block[S]
	page    *drawfile.Page
	observe func(chain, draw int, x []S, info *Info)
}

// enter starts a block's turn: it copies states, info and streams to the block's workspace, so
// that workers share no cache lines. States larger than closeBy stay in place and can share a
// cache line at either end. Every turn must be ended with leave.
func (c *Runner[S]) enter(b *block[S]) turn[S] {
	x := c.states(b)
	if b.near == nil {
		b.near = &place[S]{info: padded.Make[Info](b.chains), streams: padded.Make[Stream](b.chains)}
		if len(x) <= closeBy {
			b.near.x = padded.Make[S](len(x))
		}
	}
	t := turn[S]{place: *b.near, run: c, block: b, page: c.page(b), observe: c.observe}
	copy(t.info, c.info[b.first:])
	copy(t.streams, c.streams[b.first:])
	if t.x == nil {
		t.x = x
	}
	copy(t.x, x) // no-op for large states, where t.x is x
	return t
}

// leave ends the turn: it copies states, info and streams back to the runner's slices and writes
// pending draws to the draws file.
func (t *turn[S]) leave() {
	c, b := t.run, t.block
	if lazy, ok := As[Lazy[S]](b.kernel); ok && !b.torn {
		lazy.Show(t.x)
	}
	copy(c.info[b.first:], t.info)
	copy(c.streams[b.first:], t.streams)
	copy(c.states(b), t.x)
	if t.page != nil {
		c.file(t.page)
	}
}

// move advances the blocks to step end. A block stops earlier if the context ends, one of its
// chains fails, or stop returns true. The argument leads tells whether the first block can move the
// others with it.
func (c *Runner[S]) move(ctx context.Context, blocks []block[S], leads bool, end int, stop func() bool) {
	turns := make([]turn[S], 0, len(blocks))
	defer func() {
		for i := range turns {
			turns[i].leave()
		}
	}()
	for i := range blocks {
		if b := &blocks[i]; b.behind(end, c.warm) && poll.Err(ctx) == nil {
			turns = append(turns, c.enter(b))
		}
	}
	if leads && len(turns) == len(blocks) {
		c.advanceTogether(ctx, turns, end, stop)
	}
	for i := range turns {
		turns[i].advance(ctx, end, stop)
	}
}

// behind reports whether the block still has steps to make: regular steps up to end, or steps of
// a warm-up begun by Runner.Warm up to warm.
func (b *block[S]) behind(end, warm int) bool {
	return b.err == nil && (b.steps < end || b.warm < warm)
}

// advance moves the block to the given last step. It stops earlier if the context ends, stop
// returns true or a chain fails.
func (t *turn[S]) advance(ctx context.Context, end int, stop func() bool) {
	c, b := t.run, t.block
	adaptive, adapts := As[Adaptive](b.kernel)
	ctl := Control{Workers: c.share(), Stop: func() bool { b.asks = true; return stop() }}
	for b.behind(end, c.warm) && poll.Err(ctx) == nil {
		warming := b.warm < c.warm
		if warming {
			ctl.Unread = b.warm+1 < c.warm
		} else {
			ctl.Unread = b.steps+1 < end && !t.reads(b.steps)
		}
		b.torn = true
		done := b.kernel.Step(ctl, t.info, t.x, t.streams)
		b.torn = false
		if done != 1 {
			if done != 0 || !stop() {
				b.err = fmt.Errorf("%s: %s: chain %d and on: the kernel %T says that Step made %d steps, want 1, or 0 once Stop is true", c.system.Name(), c.system, c.cfg.First+b.first, b.kernel, done)
			}
			return
		}
		for i := range t.info {
			if err := t.info[i].Err; err != nil {
				b.err = fmt.Errorf("%s: %s: chain %d, step %d: %w", c.system.Name(), c.system, c.cfg.First+b.first+i, b.steps, err)
				return
			}
		}
		if warming {
			b.warm++
		} else {
			b.steps++
		}
		switch {
		case warming:
			if adapts {
				adaptive.Adapt(t.info, b.warm-1, c.warm)
			}
		case b.steps <= c.cfg.Warmup:
			if adapts {
				adaptive.Adapt(t.info, b.steps-1, c.cfg.Warmup)
			}
		default:
			b.stats.add(t.info, 1)
			t.draw(b.steps - c.cfg.Warmup)
		}
	}
}

// If step, counted from the end of warm-up, is a multiple of Config.Thin, draw passes the current
// states to the observer and the draws file.
func (t *turn[S]) draw(step int) {
	c := t.run
	if step%c.cfg.Thin != 0 {
		return
	}
	if t.page != nil {
		c.note(t.page, step/c.cfg.Thin-1, t.place)
	}
	if t.observe == nil {
		return
	}
	for i := range t.info {
		t.observe(c.cfg.First+t.block.first+i, step/c.cfg.Thin-1, t.x[i*c.sites:(i+1)*c.sites], &t.info[i])
	}
}

// reads reports whether an observer or the draws file reads the states produced by the given
// step.
func (t *turn[S]) reads(step int) bool {
	done := step + 1 - t.run.cfg.Warmup
	return done > 0 && done%t.run.cfg.Thin == 0 && (t.page != nil || t.observe != nil)
}

// Stats summarises the steps of all chains since the last warm-up. A count that would overflow
// stays at math.MaxInt.
type Stats struct {
	Steps   int     // number of steps, summed over all chains
	Accept  float64 // acceptance probability, averaged over chains and steps
	Moved   float64 // mean number of level changes in a step of one chain
	Invalid int     // number of proposals rejected because their energy was NaN or −Inf
}

// add accumulates the info of a block of chains after the given number of steps.
func (s *Stats) add(info []Info, steps int) {
	for i := range info {
		s.Accept += float64(float64(steps) * info[i].Accept)
		s.Moved += float64(info[i].Moved)
		s.Invalid = plus(s.Invalid, info[i].Invalid)
	}
	s.Steps = plus(s.Steps, steps*len(info))
}

// plus returns a + b, saturated at math.MaxInt.
func plus(a, b int) int { return a + min(b, math.MaxInt-a) }

package sampler

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// block is what one worker moves: some consecutive chains, of which the first is
// number first of this part of the run.
type block[S energy.Site] struct {
	first, chains int
	kernel        Transition[S] // nil while it is parked, see depot
	parked        []byte
	size          float64 // step size of the kernel that is parked; 0: none
	seed          uint64  // of the streams of a block that is parked
	steps         int     // warm-up included, but not that of Warm
	warm          int     // of the warm-up of Runner.Warm
	stats         Stats
	after         func(place[S]) // if not nil, is called after every step
	torn          bool           // a panic stopped the kernel in the middle of a step
	reset         bool           // its kernel has seen the states, of a Reset that was stopped
	asks          bool           // its kernel asks whether to stop
	err           error
	near          *place[S] // where its chains are while it moves, on cache lines of their own
	_             [128]byte // so that counts of one block share no cache line with the next
}

// closeBy is how many sites of states a block copies to where it moves them.
const closeBy = 1 << 14

// turn is a block at work: where its chains, its streams and its kernel are.
type turn[S energy.Site] struct {
	place[S]
	run     *Runner[S]
	block   *block[S]
	seat    *seat[S] // of a Lean run
	page    *drawfile.Page
	observe func(chain, draw int, x []S, info *Info)
	whole   bool // no panic ended it
}

// enter puts a block to work. What it writes shares no cache line with other blocks, but
// for states beyond closeBy, which share two lines of many. The kernel of a Lean run is
// made from what was parked; exact says that it must be the same, otherwise it wants a
// Reset. Every turn that was entered must be left.
func (c *Runner[S]) enter(b *block[S], exact bool) (turn[S], error) {
	t := turn[S]{run: c, block: b}
	if c.depot != nil {
		t.seat = c.sit(b)
		k, err := c.depot.open(t.seat, b.chains, b.parked, exact)
		if err != nil {
			c.rise(b, t.seat)
			return t, err
		}
		b.kernel, t.place = k, t.seat.place
		return t, nil
	}
	x := c.states(b)
	if b.near == nil {
		b.near = &place[S]{info: apart.Make[Info](b.chains), streams: apart.Make[Stream](b.chains)}
		if len(x) <= closeBy {
			b.near.x = apart.Make[S](len(x))
		}
	}
	t.place = *b.near
	copy(t.info, c.info[b.first:])
	copy(t.streams, c.streams[b.first:])
	if t.x == nil {
		t.x = x
	}
	copy(t.x, x) // to itself, if it is large
	return t, nil
}

// leave ends the turn: states, streams and info go back to where those of all blocks are,
// and the kernel of a Lean run is parked, as it is if a panic stopped it.
func (c *Runner[S]) leave(t *turn[S]) error {
	b := t.block
	if c.depot == nil {
		copy(c.info[b.first:], t.info)
		copy(c.streams[b.first:], t.streams)
		copy(c.states(b), t.x)
		return nil
	}
	k := b.kernel
	b.kernel = nil
	b.size = stepSize(k)
	parked, err := c.depot.park(t.seat, k, b.chains, b.parked, !t.whole)
	b.parked = parked
	c.rise(b, t.seat)
	return err
}

// with calls f while the block is at work.
func (c *Runner[S]) with(b *block[S], exact bool, f func(t *turn[S]) error) (err error) {
	t, err := c.enter(b, exact)
	if err != nil {
		return err
	}
	defer func() {
		if left := c.leave(&t); err == nil {
			err = left
		}
	}()
	err = f(&t)
	t.whole = true
	return err
}

// move brings some blocks to the given number of steps, or as far as they come until the
// context ends, a chain fails, or a kernel stops because stop is true. leads says that the
// first can take the others along.
func (c *Runner[S]) move(ctx context.Context, blocks []block[S], leads bool, end int, stop func() bool) {
	turns := make([]turn[S], 0, len(blocks))
	defer func() {
		for i := range turns {
			c.finish(&turns[i])
		}
	}()
	for i := range blocks {
		b := &blocks[i]
		if !b.behind(end, c.warm) || poll.Err(ctx) != nil {
			continue
		}
		t, err := c.enter(b, true)
		if err != nil {
			c.fail(b, err)
			continue
		}
		t.observe, t.page = c.observe, c.page(b)
		turns = append(turns, t)
	}
	if leads && len(turns) == len(blocks) {
		c.advanceTogether(ctx, turns, end, stop)
	}
	for i := range turns {
		turns[i].advance(ctx, end, stop)
	}
	for i := range turns {
		turns[i].whole = true
	}
}

// behind reports whether the block has steps to make: up to the given number, and those of
// a later warm-up.
func (b *block[S]) behind(end, warm int) bool {
	return b.err == nil && (b.steps < end || b.warm < warm)
}

// finish leaves the turn after its chains moved, and files their draws.
func (c *Runner[S]) finish(t *turn[S]) {
	if lazy, ok := As[Lazy[S]](t.block.kernel); ok && !t.block.torn {
		lazy.Show(t.x)
	}
	if err := c.leave(t); err != nil {
		c.fail(t.block, err)
	}
	if t.page != nil {
		c.file(t.page)
	}
}

// fail notes that the kernel of a block could not be found again or kept.
func (c *Runner[S]) fail(b *block[S], err error) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: chain %d and on: %w", c.system.Name(), c.cfg.First+b.first, err)
	}
}

// advance makes the steps of a block up to the given number.
func (t *turn[S]) advance(ctx context.Context, end int, stop func() bool) {
	c, b := t.run, t.block
	adaptive, adapts := As[Adaptive](b.kernel)
	ctl := Control{Workers: c.share(), Stop: func() bool { b.asks = true; return stop() }}
	for b.behind(end, c.warm) && poll.Err(ctx) == nil {
		warming := b.warm < c.warm
		if warming {
			ctl.Unread = b.after == nil && b.warm+1 < c.warm
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
		if b.after != nil {
			b.after(t.place)
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

// draw shows the states to those who read them, so many steps after warm-up.
func (t *turn[S]) draw(step int) {
	c := t.run
	if step%c.cfg.Thin != 0 {
		return
	}
	if t.page != nil {
		c.write(t.page, step/c.cfg.Thin-1, t.place)
	}
	if t.observe == nil {
		return
	}
	for i := range t.info {
		t.observe(c.cfg.First+t.block.first+i, step/c.cfg.Thin-1, t.x[i*c.sites:(i+1)*c.sites], &t.info[i])
	}
}

// reads reports whether somebody reads the states after the given step.
func (t *turn[S]) reads(step int) bool {
	if t.block.after != nil {
		return true
	}
	done := step + 1 - t.run.cfg.Warmup
	return done > 0 && done%t.run.cfg.Thin == 0 && (t.page != nil || t.observe != nil)
}

// Stats sums up the steps after warm-up. Counts stop at math.MaxInt.
type Stats struct {
	Steps   int     // chain steps: steps times chains
	Accept  float64 // mean acceptance probability
	Moved   float64 // mean number of sites changed per chain step
	Invalid int     // proposals rejected because their energy was NaN or −Inf
}

// add adds what so many steps reported.
func (s *Stats) add(info []Info, steps int) {
	for i := range info {
		s.Accept += float64(float64(steps) * info[i].Accept)
		s.Moved += float64(info[i].Moved)
		s.Invalid = plus(s.Invalid, info[i].Invalid)
	}
	s.Steps = plus(s.Steps, steps*len(info))
}

// plus adds counts and stays at the largest int instead of running over.
func plus(a, b int) int { return a + min(b, math.MaxInt-a) }

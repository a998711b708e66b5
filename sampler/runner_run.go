package sampler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// Blocks advance in rounds of a few steps, so that observers and progress see all chains at about
// the same step. A round is sized to last about this long, which also bounds the work left to do
// after the context ends.
const (
	roundTime = 16 * time.Millisecond
	maxRound  = 1 << 15
)

// After the context has ended, blocks are brought to the same step if that
// takes at most this many site updates, or this many checks of a kernel for a
// stop: some tens of milliseconds. TestCancellationIsBounded.
const (
	levelWork  = 1 << 19
	levelLooks = 16 // for states of up to levelWork/16 sites, fewer for larger ones and none beyond levelWork
)

// stepsAfter returns the number of steps after which every chain has made n more draws. If that
// overflows an int, it returns math.MaxInt, which a run reaches only if its context does not end.
func (c *Runner[S]) stepsAfter(n int) int {
	most := (math.MaxInt - c.cfg.Warmup) / c.cfg.Thin
	if kept := min(c.kept, most); n <= most-kept {
		return c.cfg.Warmup + (kept+n)*c.cfg.Thin
	}
	return math.MaxInt
}

// advance brings all blocks to the given number of steps.
func (c *Runner[S]) advance(ctx context.Context, target int) error {
	if c.err != nil && ctx.Err() == nil && c.failed() {
		return c.err
	}
	stop := func() bool { return poll.Err(ctx) != nil }
	if !c.ready {
		if err := c.prepare(stop); err != nil {
			return err
		}
		if !c.ready {
			c.err = ctx.Err()
			return c.err
		}
	}
	if err := c.mend(); err != nil {
		return err
	}
	begin, _ := c.span()
	round, unsure := 1, begin < c.cfg.Warmup || c.warming()
	for at := begin; at < target || c.warming(); {
		end := at + max(0, min(round, target-at))
		start := time.Now()
		if groups := c.groups(); groups != nil {
			pool.Each(c.cfg.Workers, len(groups), func(i int) {
				c.move(ctx, c.blocks[groups[i].first:groups[i].end], true, end, stop)
			})
		} else {
			pool.Each(c.cfg.Workers, len(c.blocks), func(i int) { c.move(ctx, c.blocks[i:i+1], false, end, stop) })
		}
		if ctx.Err() != nil {
			c.level()
		}
		at, _ = c.span()
		c.kept = max(c.kept, (at-c.cfg.Warmup)/c.cfg.Thin)
		if c.err = errors.Join(c.failure(), c.drawsFailed()); c.err != nil {
			return c.err
		}
		if end := at >= c.cfg.Warmup && !c.warming(); unsure && (end || round == 1) && ctx.Err() == nil {
			if c.err = c.claims(ctx, at); c.err != nil {
				return c.err
			}
			unsure = !end
		}
		if c.cfg.Progress != nil && target > begin {
			c.cfg.Progress(at-begin, target-begin)
		}
		if c.err = ctx.Err(); c.err != nil && (at < target || c.warming()) {
			return c.err
		}
		if c.err = c.life.Keep(); c.err != nil {
			return c.err
		}
		switch took := time.Since(start); {
		case took < roundTime/2:
			round = min(2*round, maxRound)
		case took > 2*roundTime:
			round = max(round/2, 1)
		}
	}
	c.err, c.warm = nil, 0
	for i := range c.blocks {
		c.blocks[i].warm = 0
	}
	return nil
}

// claims checks what the system claims about its target against energies, at the states of a few
// chains. It runs at the end of the first and the last round of a warm-up.
func (c *Runner[S]) claims(ctx context.Context, step int) (err error) {
	s, ok := c.system.(claimant[S])
	if !ok {
		return nil
	}
	pool.Each(1, 1, func(int) { // which makes a panic an error with a stack
		chains := min(claimed, c.cfg.Count)
		for k := range claimed * claimed {
			if poll.Err(ctx) != nil {
				return
			}
			chain := k % chains * (c.cfg.Count - 1) / max(1, chains-1)
			if why := s.claims(ctx, c.x[chain*c.sites:(chain+1)*c.sites], uint64(step*claimed*claimed+k)); why != nil {
				err = fmt.Errorf("%s: %s: warm-up, chain %d, step %d: %w", c.system.Name(), c.system, c.cfg.First+chain, step, why)
				return
			}
		}
	})
	return err
}

// claimed is the number of chains whose states claims checks, and the number of changes that it
// checks for each.
const claimed = 3

// claimant is a system that can check the claims of its target against energies.
type claimant[S energy.Site] interface {
	claims(ctx context.Context, x []S, seed uint64) error
}

// warming reports whether some block has steps of the warm-up of Warm left.
func (c *Runner[S]) warming() bool {
	if c.warm == 0 {
		return false
	}
	for i := range c.blocks {
		if b := &c.blocks[i]; b.warm < c.warm {
			return true
		}
	}
	return false
}

// level brings blocks that are part of a round behind to the step of the others, if that is not
// much work.
func (c *Runner[S]) level() {
	_, end := c.span()
	work, looks := 0, int64(0)
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.asks {
			work += (end - b.steps) * b.chains * c.sites
		}
		if work > levelWork {
			return
		}
	}
	most := min(levelLooks, int64(levelWork/c.sites))
	if most == 0 || c.warming() {
		return
	}
	stop := func() bool { return atomic.AddInt64(&looks, 1) > most }
	pool.Each(c.cfg.Workers, len(c.blocks), func(i int) { c.move(context.Background(), c.blocks[i:i+1], false, end, stop) })
}

// Run makes n draws per chain, Config.Thin steps apart, and calls the observer with each. The first
// Run warms up before it draws.
//
// If the context ends, Run returns its error with every chain at the same step: the states are
// valid and a later Run continues from there. If bringing the chains to the same step would take
// more than some tens of milliseconds, they may stay up to one round of steps apart, and the later
// Run first moves the chains that are behind. There is no limit on n: with math.MaxInt, Run draws
// until the context ends.
//
// If a chain cannot continue, Run returns an error that names the chain and the step. The chains
// then cannot run until Reset. A panic in the code of a model, method or observer panics in the
// goroutine of Run, whatever Workers is. The panic value is then an error with the original value
// and its stack; it wraps the value if that is an error. A later Run continues from the states as
// they are. It is an error to call Run while another Run is under way.
func (c *Runner[S]) Run(ctx context.Context, n int) error {
	if err := c.life.Begin(ctx, "Run", n); err != nil {
		return err
	}
	defer c.life.End()
	defer c.closeDraws() // a panic leaves them open
	if c.err = c.life.Hold("Run"); c.err != nil {
		return c.err
	}
	if c.err = c.openDraws(); c.err == nil {
		c.err = c.finish(ctx, c.advance(ctx, c.stepsAfter(n)))
	}
	return c.err
}

// finish saves a checkpoint file if the chains can continue, flushes draws to disk, and returns err
// joined with the errors of both.
func (c *Runner[S]) finish(ctx context.Context, err error) error {
	if c.ready && !c.failed() {
		err = c.life.Finish(ctx, err)
	}
	if file := c.closeDraws(); file != nil {
		err = errors.Join(err, file)
	}
	return err
}

// Warm makes n steps of warm-up, in which kernels tune themselves anew. Call it after Retarget,
// whose kernels are not tuned: only the first Run warms up by itself. Warm-up steps count neither
// as steps nor as draws, observers do not see them, and Stats begins anew. If the context ends,
// Warm returns its error, and the next Run, Draws or Load of a checkpoint finishes the warm-up
// first. A call of Warm before then begins a new warm-up. Errors and panics are those of Run.
func (c *Runner[S]) Warm(ctx context.Context, n int) error {
	if err := c.life.Begin(ctx, "Warm", n); err != nil {
		return err
	}
	defer c.life.End()
	c.warm = n
	for i := range c.blocks {
		c.blocks[i].warm, c.blocks[i].stats = 0, Stats{}
	}
	at, _ := c.span()
	return c.advance(ctx, at)
}

// Draws returns an iterator that makes n draws, as Run does, and yields the states of all chains
// (chains × sites) after each draw. The slice is the runner's own: it is overwritten by the next
// draw and must not be modified. On an error the loop ends early, and Err returns the error.
func (c *Runner[S]) Draws(ctx context.Context, n int) iter.Seq[[]S] {
	return func(yield func([]S) bool) {
		if c.err = c.life.Begin(ctx, "Draws", n); c.err != nil {
			return
		}
		c.life.End()
		if c.err = c.life.Lock("Draws"); c.err != nil {
			return
		}
		defer c.life.Unlock()
		defer c.closeDraws() // a panic leaves them open
		if c.err = c.openDraws(); c.err != nil {
			return
		}
		for range n {
			if c.draw(ctx) != nil || !yield(c.x) {
				break
			}
		}
		c.err = c.finish(ctx, c.err)
	}
}

// draw is a Run of one draw without a checkpoint at its end.
func (c *Runner[S]) draw(ctx context.Context) error {
	if c.err = c.life.Begin(ctx, "Draws", 1); c.err != nil {
		return c.err
	}
	defer c.life.End()
	return c.advance(ctx, c.stepsAfter(1))
}

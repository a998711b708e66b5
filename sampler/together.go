package sampler

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

const (
	// fewestTogether is the minimum number of successive Unread steps that blocks make together.
	fewestTogether = 4

	// mostTogether is the maximum number of site updates that blocks make together in one call.
	// With this bound, a count of updates fits an int.
	mostTogether = 1 << 30
)

// group is a range of consecutive blocks, first … end−1. The first block moves all of them.
type group struct{ first, end int }

// groups returns the groups of blocks that move together, or nil if every block moves alone. It
// forms at most as many groups as keep all workers of the run busy.
func (c *Runner[S]) groups() (all []group) {
	if _, tokens := any(c.x).([]int32); !tokens || c.warming() {
		return nil
	}
	if (c.observe != nil || c.draws != nil) && c.cfg.Thin <= fewestTogether {
		return nil // states are read too often
	}
	leads := false
	for at := 0; at < len(c.blocks); {
		// blocks with the same number of chains, on which a kernel may depend
		g := group{at, at + 1}
		if k, ok := As[Companion](c.blocks[at].kernel); ok {
			company := k.Company((len(c.blocks)-1)/min(c.cfg.Workers, len(c.blocks)) + 1)
			leads = leads || company > 0
			for g.end < min(len(c.blocks), at+company) && c.blocks[g.end].chains == c.blocks[at].chains {
				g.end++
			}
		}
		all = append(all, g)
		at = g.end
	}
	if !leads {
		return nil
	}
	return all
}

// advanceTogether moves blocks that are at the same step up to step end. It alternates between
// many unread steps, made together, and one step whose states are read, made block by block. It
// returns early if the blocks are no longer at the same step or the context ends.
func (c *Runner[S]) advanceTogether(ctx context.Context, turns []turn[S], end int, stop func() bool) {
	lead := turns[0].block
	companion, ok := As[Companion](lead.kernel)
	if !ok || companion.Company(len(turns)) == 0 {
		return
	}
	company := make([]Block, 0, len(turns)-1)
	for i := range turns[1:] {
		t := &turns[1+i]
		company = append(company, Block{Kernel: any(t.block.kernel).(Kernel), Info: t.info, X: any(t.x).([]int32), R: t.streams})
	}
	for poll.Err(ctx) == nil && lead.steps < end && abreast(turns, lead.steps) {
		n := mostTogether / len(turns[0].x)
		for i := range turns {
			n = min(n, turns[i].unread(end))
		}
		last, until, ask := lead.steps+n+1, ctx, stop
		if n >= fewestTogether && c.stepTogether(turns, Control{Steps: n, Stop: stop, Unread: true, Workers: c.share(), Company: company}) {
			last, until, ask = lead.steps+1, context.Background(), never
		}
		for i := range turns {
			turns[i].advance(until, last, ask)
		}
	}
}

func never() bool { return false }

// stepTogether makes steps of all blocks in one call and reports whether it made any.
func (c *Runner[S]) stepTogether(turns []turn[S], ctl Control) bool {
	for i := range turns {
		turns[i].block.torn = true
	}
	lead := &turns[0]
	steps := lead.block.kernel.Step(ctl, lead.info, lead.x, lead.streams)
	for i := range turns {
		t, b := &turns[i], turns[i].block
		b.torn = false
		if steps > 0 && b.steps >= c.cfg.Warmup {
			b.stats.add(t.info, steps)
		}
		b.steps += steps
	}
	return steps > 0
}

// abreast reports whether all blocks are at the given step and none has failed.
func abreast[S energy.Site](turns []turn[S], at int) bool {
	for i := range turns {
		if b := turns[i].block; b.steps != at || b.err != nil {
			return false
		}
	}
	return true
}

// unread returns the number of steps, from the current one on, whose states nobody reads. It does
// not count across the end of warm-up, and the last step before end is always read. An adaptive
// kernel reads every step of warm-up.
func (t *turn[S]) unread(end int) int {
	at, warmup := t.block.steps, t.run.cfg.Warmup
	n := end - 1 - at
	if at < warmup {
		n = min(n, warmup-at)
		if _, ok := As[Adaptive](t.block.kernel); ok {
			return 0
		}
	}
	if thin, done := t.run.cfg.Thin, at+1-warmup; done > 0 && (t.page != nil || t.observe != nil) {
		n = min(n, (thin-done%thin)%thin)
	}
	return n
}

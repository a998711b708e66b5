package sampler

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// leaper kernels make steps that nobody reads many at a time, see [Transition].
type leaper[S energy.Site] interface {
	Company(blocks int) int
	Leap(stop func() bool, n int, kernels []Transition[S], x [][]S, r [][]Stream, moved []int) (steps int)
}

// fewestLeap is how many steps in a row that nobody reads are a leap, and mostLeap how
// many site updates, so that counts of them fit an int.
const (
	fewestLeap = 4
	mostLeap   = 1 << 30
)

// troop is some consecutive blocks whose kernels leap together.
type troop[S energy.Site] struct {
	blocks  []*block[S]
	leader  leaper[S] // nil: they do not leap
	marches []march[S]
	places  []place[S]
	kernels []Transition[S]
	x       [][]S
	r       [][]Stream
	moved   []int
}

// newTroops returns blocks as they leap together where so many workers share them, nil if
// they do not.
func newTroops[S energy.Site](blocks []block[S], workers int) (all []troop[S]) {
	leaps := false
	for at := 0; at < len(blocks); {
		var leader leaper[S]
		size := 1 // of blocks that are alike, as their kernels may depend on their chains
		if k, ok := blocks[at].kernel.(leaper[S]); ok {
			company := k.Company((len(blocks)-1)/min(workers, len(blocks)) + 1)
			if company > 0 {
				leader, leaps = k, true
			}
			for size < min(company, len(blocks)-at) && blocks[at+size].chains == blocks[at].chains {
				size++
			}
		}
		t := troop[S]{
			leader:  leader,
			marches: make([]march[S], size), places: make([]place[S], size), kernels: make([]Transition[S], size),
			x: make([][]S, size), r: make([][]Stream, size), moved: make([]int, size),
		}
		for i := range size {
			b := &blocks[at+i]
			t.blocks, t.kernels[i] = append(t.blocks, b), b.kernel
		}
		all = append(all, t)
		at += size
	}
	if !leaps {
		return nil
	}
	return all
}

// move is block.move of all, which come as far as one alone does: after a leap they make
// a step that shows where they are.
func (t *troop[S]) move(ctx context.Context, end int, stop func() bool) {
	for at := t.blocks[0].steps; t.leader != nil && at < end && poll.Err(ctx) == nil && t.abreast(at); at = t.blocks[0].steps {
		n := t.unread(at, end)
		if n < fewestLeap || !t.leap(stop, n) {
			t.each(ctx, at+n+1, stop)
			continue
		}
		t.each(context.Background(), t.blocks[0].steps+1, func() bool { return false })
	}
	t.each(ctx, end, stop)
}

func (t *troop[S]) each(ctx context.Context, end int, stop func() bool) {
	for i, b := range t.blocks {
		b.move(ctx, t.marches[i], t.places[i], end, stop)
	}
}

// abreast reports whether all blocks can go on from the given number of steps.
func (t *troop[S]) abreast(at int) bool {
	for _, b := range t.blocks {
		if b.steps != at || b.err != nil {
			return false
		}
	}
	return true
}

// unread returns how many steps after the first so many nobody reads, the last one before
// end being read.
func (t *troop[S]) unread(at, end int) int {
	n := max(1, mostLeap/(t.blocks[0].chains*(len(t.x[0])/t.blocks[0].chains)))
	for i := range t.blocks {
		n = min(n, t.marches[i].unread(at, end))
		if _, ok := t.kernels[i].(Adaptive); ok && at < t.marches[i].warmup {
			return 0
		}
	}
	return n
}

// leap makes up to n steps and reports whether it made any.
func (t *troop[S]) leap(stop func() bool, n int) bool {
	for _, b := range t.blocks {
		b.torn = true
	}
	clear(t.moved)
	steps := t.leader.Leap(stop, n, t.kernels, t.x, t.r, t.moved)
	for i, b := range t.blocks {
		b.torn = false
		if b.steps >= t.marches[i].warmup {
			b.stats.leap(steps*b.chains, t.moved[i])
		}
		b.steps += steps
	}
	return steps > 0
}

// unread returns how many steps after the first at nobody reads, as many as end before
// warm-up does and before the last one.
func (m *march[S]) unread(at, end int) int {
	n := end - 1 - at
	if at < m.warmup {
		n = min(n, m.warmup-at)
	}
	if m.after != nil {
		return 0
	}
	if done := at + 1 - m.warmup; done > 0 && (m.write != nil || m.observe != nil) {
		n = min(n, (m.thin-done%m.thin)%m.thin)
	}
	return n
}

// leap adds steps that were all accepted.
func (s *Stats) leap(steps, moved int) {
	s.Accept += float64(steps)
	s.Moved += float64(moved)
	s.Steps = plus(s.Steps, steps)
}

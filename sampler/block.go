package sampler

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
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
	steps         int     // warm-up included
	stats         Stats
	after         func(place[S]) // if not nil, is told of every step
	torn          bool           // a panic stopped the kernel in the middle of a step
	reset         bool           // its kernel has seen the states, of a Reset that was stopped
	err           error
	near          *place[S] // where its chains are while it moves, apart from those of others
	_             [128]byte // so that counts of one block share no cache line with the next
}

// closeBy is how many sites of states a block copies to where it moves them.
const closeBy = 1 << 14

// apart calls f where what the block writes shares no cache line with other blocks,
// and stores it at p, where all blocks lie side by side. States beyond closeBy stay
// there: they share two lines of many.
func (b *block[S]) apart(p place[S], f func(p place[S]) error) error {
	if b.near == nil {
		b.near = &place[S]{info: apart.Make[Info](b.chains), streams: apart.Make[Stream](b.chains)}
		if len(p.x) <= closeBy {
			b.near.x = apart.Make[S](len(p.x))
		}
	}
	own := *b.near
	copy(own.info, p.info)
	copy(own.streams, p.streams)
	if own.x != nil {
		copy(own.x, p.x)
	} else {
		own.x = p.x
	}
	defer func() {
		copy(p.info, own.info)
		copy(p.streams, own.streams)
		copy(p.x, own.x) // itself, if it is large
	}()
	return f(own)
}

// stopper kernels can stop in the middle of a step, see [Transition].
type stopper[S any] interface {
	StepUntil(stop func() bool, info []Info, x []S, r []Stream) (done bool)
}

// deferrer kernels hold states in a form of their own, see [Transition].
type deferrer[S any] interface {
	Defer(on bool)
	Show(x []S)
}

// shareOut tells kernels of what each block has of several goroutines.
func shareOut[S energy.Site](blocks []block[S], workers int) {
	for i := range blocks {
		if k, ok := blocks[i].kernel.(interface{ Workers(n int) }); ok {
			k.Workers(max(1, workers/len(blocks)))
		}
	}
}

// march is how a run moves its blocks.
type march[S energy.Site] struct {
	warmup, thin int
	number       int // of the first chain of the block
	fail         func(chain, step int, err error) error
	observe      func(chain, draw int, x []S, info *Info)
	after        func(p place[S])           // if not nil, is told of every step
	write        func(draw int, p place[S]) // if not nil, is told of every draw
}

// move brings a block to the given number of steps, or until the context ends, a
// chain fails or the kernel stops because stop says so.
func (b *block[S]) move(ctx context.Context, m march[S], p place[S], end int, stop func() bool) {
	sites := len(p.x) / b.chains
	partial, _ := b.kernel.(stopper[S])
	own, _ := b.kernel.(deferrer[S])
	if own != nil {
		defer func() {
			own.Defer(false)
			if !b.torn {
				own.Show(p.x)
			}
		}()
	}
	for b.steps < end && b.err == nil && poll.Err(ctx) == nil {
		if own != nil {
			own.Defer(b.steps+1 < end && !m.reads(b.steps))
		}
		b.torn = true
		if partial == nil {
			b.kernel.Step(p.info, p.x, p.streams)
		} else if !partial.StepUntil(stop, p.info, p.x, p.streams) {
			b.torn = false
			return
		}
		b.torn = false
		for i := range p.info {
			if err := p.info[i].Err; err != nil {
				b.err = m.fail(m.number+i, b.steps, err)
				return
			}
		}
		step := b.steps
		b.steps++
		if m.after != nil {
			m.after(p)
		}
		if step < m.warmup {
			if k, ok := b.kernel.(Adaptive); ok {
				k.Adapt(p.info, step, m.warmup)
			}
			continue
		}
		b.stats.add(p.info)
		after := b.steps - m.warmup
		if after%m.thin != 0 {
			continue
		}
		if m.write != nil {
			m.write(after/m.thin-1, p)
		}
		if m.observe != nil {
			for i := range p.info {
				m.observe(m.number+i, after/m.thin-1, p.x[i*sites:(i+1)*sites], &p.info[i])
			}
		}
	}
}

// reads reports whether somebody is told of the states after the given step.
func (m *march[S]) reads(step int) bool {
	if m.after != nil {
		return true
	}
	done := step + 1 - m.warmup
	return done > 0 && done%m.thin == 0 && (m.write != nil || m.observe != nil)
}

// Stats sums up the steps after warm-up. Counts stop at math.MaxInt.
type Stats struct {
	Steps   int     // chain steps: steps times chains
	Accept  float64 // mean acceptance probability
	Moved   float64 // mean number of sites changed per chain step
	Invalid int     // proposals rejected because their energy was NaN or −Inf
}

func (s *Stats) add(info []Info) {
	for i := range info {
		s.Accept += info[i].Accept
		s.Moved += float64(info[i].Moved)
		s.Invalid = plus(s.Invalid, info[i].Invalid)
	}
	s.Steps = plus(s.Steps, len(info))
}

// plus adds counts and stays at the largest int instead of running over.
func plus(a, b int) int { return a + min(b, math.MaxInt-a) }

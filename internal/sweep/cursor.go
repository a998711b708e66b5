package sweep

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Cursor records where a stopped step stands: the chains before Chain have made all of
// their updates, and Chain has made Update of them. Between steps both are zero. Chains
// with small states move several at a time. A large state may take longer than the time
// between two checks for a stop; such chains move one by one and in stages.
type Cursor struct {
	Chain, Update int
	Info          []sampler.Info // what the step did so far, by chain
	poll

	// A chain that stopped between two stages of an update has two streams: Before, as
	// it was before the update, which a checkpoint and the caller see, and after, where
	// the update has left it. They are kept in memory only: after a checkpoint the
	// update begins again.
	stage, Part   int // Part: progress within a stage that can itself be stopped
	Before, after sampler.Stream

	renewing bool // a Reset was stopped
	renewed  int  // chains that it has done
}

// NewCursor returns the cursor of the given number of chains.
func NewCursor(chains int) Cursor { return Cursor{Info: padded.Make[sampler.Info](chains)} }

// Fresh reports whether no part of a step has been made.
func (c *Cursor) Fresh() bool { return c.Chain == 0 && c.Update == 0 && c.stage == 0 }

// Next goes on to the next chain.
func (c *Cursor) Next() { c.Chain, c.Update = c.Chain+1, 0 }

// Clear returns to the beginning of a step and clears Info.
func (c *Cursor) Clear() {
	c.Chain, c.Update, c.stage, c.Part, c.renewing, c.renewed = 0, 0, 0, 0, false, 0
	clear(c.Info)
}

// Finish ends a step and copies Info to info.
func (c *Cursor) Finish(info []sampler.Info) {
	copy(info, c.Info)
	c.Clear()
}

// span returns the chains lo … hi−1 of n, lo = first, that move together, given the
// elementary operations of one chain.
func span(first, n, work int) (lo, hi int) {
	return first, min(first+max(1, PollWork/max(work, 1)), n)
}

// Staged kernels make a step in stages.
type Staged interface {
	// Stage does one stage of the step of the chains lo … hi−1. It returns false if it was
	// stopped; the next call continues the stage.
	Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool
}

// Step makes a step of n stages of the kernel, or the rest of a stopped one. It returns the
// number of whole steps: 0 if it was stopped before the end. work is the number of elementary
// operations of a stage of one chain. Chains that move together are not stopped between
// stages.
func (c *Cursor) Step(ctl sampler.Control, k Staged, info []sampler.Info, x []int32, r []sampler.Stream, n, work int) (done int) {
	c.Begin(ctl.Stop)
	for c.Chain < len(info) {
		if c.Stopped {
			return 0
		}
		lo, hi := span(c.Chain, len(info), work)
		if c.stage > 0 || c.Part > 0 {
			r[lo] = c.after
		} else {
			c.Before = r[lo]
		}
		for c.stage < n {
			whole := k.Stage(c.stage, lo, hi, x, r)
			if whole {
				c.stage, c.Part = c.stage+1, 0
			}
			if !whole || c.Done(Times(hi-lo, work)) && hi-lo == 1 && c.stage < n {
				c.after, r[lo] = r[lo], c.Before
				return 0
			}
		}
		c.stage, c.Chain = 0, hi
	}
	c.Finish(info)
	return 1
}

// renews reports whether a Reset begins anew. A stopped one continues if stop is not nil.
func (c *Cursor) renews(stop func() bool) bool { return stop == nil || !c.renewing }

// Renew is the body of a kernel's Reset: it calls f for the stages 0 … stages−1 of the
// chains lo … hi−1, for as many chains at once as fit between two checks for a stop. If it
// is stopped, by stop or because f returned false, it returns [sampler.ErrStopped] and the
// next call continues there. work is the number of elementary operations of a stage of one
// chain.
func (c *Cursor) Renew(stop func() bool, stages, work int, f func(stage, lo, hi int) (bool, error)) error {
	if c.renews(stop) {
		c.Clear()
		c.renewing = true
	}
	c.Begin(stop)
	n := len(c.Info)
	for c.renewed < n {
		lo, hi := span(c.renewed, n, work)
		for c.stage < stages {
			whole, err := f(c.stage, lo, hi)
			if err != nil {
				c.Clear()
				return err
			}
			if !whole {
				return sampler.ErrStopped
			}
			c.stage, c.Part = c.stage+1, 0
			if c.Done(Times(hi-lo, work)) && hi-lo == 1 && c.stage < stages {
				return sampler.ErrStopped
			}
		}
		if c.renewed, c.stage = hi, 0; c.Stopped && hi < n {
			return sampler.ErrStopped
		}
	}
	c.Clear()
	return nil
}

// CheckStart is [sampler.CheckStart] for the energies e of the chains lo … hi−1.
func CheckStart(e []float64, lo, hi int) error {
	err := sampler.CheckStart(e[lo:hi])
	if start, ok := err.(*sampler.StartError); ok {
		start.Chain += lo
	}
	return err
}

// Errors of a chain in a checkpoint.
const (
	noError = iota
	nanError
	zeroError
)

// Append appends the cursor to a checkpoint: its position and, within a step, Info.
func (c *Cursor) Append(b []byte) []byte {
	b = wire.AppendInts(b, c.Chain, c.Update)
	if c.Chain == 0 && c.Update == 0 {
		return b
	}
	return AppendInfo(b, c.Info)
}

// AppendInfo appends the results of a step to a checkpoint.
func AppendInfo(b []byte, info []sampler.Info) []byte {
	for _, t := range info {
		code := noError
		switch t.Err {
		case nil:
		case sampler.ErrZero:
			code = zeroError
		default:
			code = nanError
		}
		b = wire.AppendInts(b, t.Moved, t.Invalid, code)
		b = wire.AppendFloat64s(b, []float64{t.Energy, t.Accept})
	}
	return b
}

// Restore reads what Append wrote at the end of a checkpoint; updates is the
// number of updates of a chain in a step.
func (c *Cursor) Restore(b []byte, updates int) error {
	c.Clear()
	var at [2]uint64
	b, err := wire.ReadUint64s(b, at[:])
	if err != nil {
		return err
	}
	if at[0] >= uint64(len(c.Info)) || at[1] > uint64(updates) {
		return fmt.Errorf("mcmc: the checkpoint stands at update %d of chain %d, want < %d of chain < %d", at[1], at[0], updates, len(c.Info))
	}
	if at[0] == 0 && at[1] == 0 {
		return wire.ReadEnd(b)
	}
	if b, err = ReadInfo(b, c.Info); err != nil {
		return err
	}
	c.Chain, c.Update = int(at[0]), int(at[1])
	return wire.ReadEnd(b)
}

// ReadInfo reads what AppendInfo wrote and returns the rest of b.
func ReadInfo(b []byte, info []sampler.Info) ([]byte, error) {
	for s := range info {
		var counts [3]uint64
		var numbers [2]float64
		var err error
		if b, err = wire.ReadUint64s(b, counts[:]); err != nil {
			return nil, err
		}
		if b, err = wire.ReadFloat64s(b, numbers[:]); err != nil {
			return nil, err
		}
		if counts[0] > math.MaxInt || counts[1] > math.MaxInt || counts[2] > zeroError {
			return nil, fmt.Errorf("mcmc: the checkpoint has a step of %d moves, %d invalid ones and error %d", counts[0], counts[1], counts[2])
		}
		info[s] = sampler.Info{
			Moved: int(counts[0]), Invalid: int(counts[1]), Energy: numbers[0], Accept: numbers[1],
			Err: [...]error{nil, sampler.ErrNaN, sampler.ErrZero}[counts[2]],
		}
	}
	return b, nil
}

// PollWork is the number of elementary operations, such as sites evaluated, between two
// checks for a stop: about a millisecond. Tests set it lower; results do not depend on
// it.
var PollWork = 1 << 20

// poll asks whether to stop once in PollWork operations.
type poll struct {
	Stop    func() bool // nil: never
	Stopped bool
	Work    int
}

// Begin begins a call that stop may end.
func (p *poll) Begin(stop func() bool) { p.Stop, p.Stopped = stop, false }

// Done counts work and reports whether to stop.
func (p *poll) Done(work int) bool {
	if p.Work += work; p.Work >= PollWork {
		p.Work = 0
		p.Stopped = p.Stopped || p.Stop != nil && p.Stop()
	}
	return p.Stopped
}

// Times returns a·b, at most PollWork.
func Times(a, b int) int {
	if b > 0 && a >= PollWork/b {
		return PollWork
	}
	return a * b
}

// chunk is the number of sites that random bits are drawn for at a time.
const chunk = 256

// siteWork is the number of elementary operations of a redraw of a site.
const siteWork = 16

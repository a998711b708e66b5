package sweep

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Cursor records the position of a stopped step: the chains before Chain have made all of their
// updates, and chain Chain has made Update of its own. Between steps both are zero. Several
// chains with small states move together. A large state may take longer than the time between two
// checks for a stop; such chains move one by one and in stages.
type Cursor struct {
	Chain, Update int
	Info          []sampler.Info // results of the step so far, by chain
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

// Fresh reports whether the cursor is at the beginning of a step.
func (c *Cursor) Fresh() bool { return c.Chain == 0 && c.Update == 0 && c.stage == 0 }

// Next advances to the next chain.
func (c *Cursor) Next() { c.Chain, c.Update = c.Chain+1, 0 }

// Clear moves the cursor to the beginning of a step and clears Info.
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
	// Stage makes one stage of the step of the chains lo … hi−1. It returns false if it was
	// stopped; the next call continues the stage.
	Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool
}

// Step makes a step of kernel k, which has n stages, or the rest of a stopped step. It returns
// the number of whole steps: 0 if it was stopped before the end. work is the number of elementary
// operations in a stage of one chain. Chains that move together are not stopped between stages.
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

// Renew is the body of a kernel's Reset: it calls f for the stages 0 … stages−1 of the chains lo
// … hi−1, for as many chains at once as fit between two checks for a stop. If it is stopped, by
// stop or because f returned false, it returns [sampler.ErrStopped], and the next call continues
// at that point. work is the number of elementary operations in a stage of one chain.
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

// Fields reads or writes the position of the cursor and, within a step, Info, at the end of a
// checkpoint. updates is the number of updates per chain and step.
func (c *Cursor) Fields(f *wire.Fields, updates int) {
	if f.Reading() {
		c.Clear()
	}
	f.Int("mcmc: chain of a stopped step", &c.Chain, 0, len(c.Info)-1)
	f.Int("mcmc: update of a stopped step", &c.Update, 0, updates)
	if c.Chain > 0 || c.Update > 0 {
		InfoFields(f, c.Info)
	}
}

// kept are the errors of chains that a checkpoint knows.
var kept = []error{nil, sampler.ErrNaN, sampler.ErrZero}

// InfoFields reads or writes the results of a step.
func InfoFields(f *wire.Fields, info []sampler.Info) {
	for s := range info {
		t := &info[s]
		if f.Reading() {
			*t = sampler.Info{}
		}
		f.Counts("mcmc: moves of a step", &t.Moved, &t.Invalid)
		code := slices.Index(kept, t.Err)
		if code < 0 {
			code = slices.Index(kept, sampler.ErrNaN)
		}
		if f.Int("mcmc: error of a step", &code, 0, len(kept)-1); f.Reading() {
			t.Err = kept[code]
		}
		f.Float64(&t.Energy)
		f.Float64(&t.Accept)
	}
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

// SiteWork is the number of elementary operations of a redraw of a site.
const SiteWork = 16

package sweep

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Cursor records the position of a kernel in a step that was stopped early, so that the next call
// can finish it. A step makes several updates, such as redraws of a site, in every chain. Chain is
// the number of chains that have made all of their updates. Update is the number of updates that
// the next chain has made. Between steps both numbers are zero.
//
// If states are small, several chains move together between two checks for a stop. Otherwise chains
// move one by one, in stages.
type Cursor struct {
	Chain, Update int
	Info          []sampler.Info // reports on the step so far, one per chain
	poll

	// stage is the next stage of the update in progress. A chain that stops between two stages of
	// an update needs two streams. Before is its stream at the start of the update, and after is
	// its stream at the stop. The caller and a checkpoint see Before. Both are kept in memory only.
	// A run restored from a checkpoint starts the update over.
	stage, Part   int // stage: next stage; Part: progress within a stage that can itself be stopped
	Before, after sampler.Stream

	renewing bool // a Reset was stopped
	renewed  int  // number of chains that the stopped Reset has finished
}

// NewCursor returns a cursor for the given number of chains, at the beginning of a step.
func NewCursor(chains int) Cursor { return Cursor{Info: padded.Make[sampler.Info](chains)} }

// Fresh reports whether the cursor is at the beginning of a step.
func (c *Cursor) Fresh() bool { return c.Chain == 0 && c.Update == 0 && c.stage == 0 }

// Next moves the cursor to the first update of the next chain.
func (c *Cursor) Next() { c.Chain, c.Update = c.Chain+1, 0 }

// Clear moves the cursor to the beginning of a step and clears Info.
func (c *Cursor) Clear() {
	c.Chain, c.Update, c.stage, c.Part, c.renewing, c.renewed = 0, 0, 0, 0, false, 0
	clear(c.Info)
}

// Finish ends a step: it copies Info to info and clears the cursor.
func (c *Cursor) Finish(info []sampler.Info) {
	copy(info, c.Info)
	c.Clear()
}

// span returns the range lo … hi−1 of chains that move together, beginning with the given chain.
// The argument n is the number of chains, and work is the number of elementary operations of one
// chain.
func span(first, n, work int) (lo, hi int) {
	return first, min(first+max(1, PollWork/max(work, 1)), n)
}

// Staged is a kernel that makes a step in several stages, between which the step can be stopped.
type Staged[S energy.Site] interface {
	// Stage makes one stage of a step for the chains lo, …, hi−1. It returns false if it was
	// stopped. The next call then continues the stage.
	Stage(stage, lo, hi int, x []S, r []sampler.Stream) bool
}

// Step makes a step of kernel k in n stages, or makes the rest of a step that was stopped at the
// cursor c. It returns the number of steps completed: 1, or 0 if the step was stopped before its
// end. The argument cost is the number of elementary operations in a stage of one chain. Between
// two stages, a step can be stopped only if chains move one by one (see [Cursor]).
func Step[S energy.Site](c *Cursor, ctl sampler.Control, k Staged[S], info []sampler.Info, x []S, r []sampler.Stream, n, cost int) (done int) {
	c.Begin(ctl.Stop)
	for c.Chain < len(info) {
		if c.Stopped {
			return 0
		}
		lo, hi := span(c.Chain, len(info), cost)
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
			if !whole || c.Done(Times(hi-lo, cost)) && hi-lo == 1 && c.stage < n {
				c.after, r[lo] = r[lo], c.Before
				return 0
			}
		}
		c.stage, c.Chain = 0, hi
	}
	c.Finish(info)
	return 1
}

// renews reports whether a Reset starts over. If stop is not nil, a stopped Reset continues
// instead.
func (c *Cursor) renews(stop func() bool) bool { return stop == nil || !c.renewing }

// Renew does the work of a kernel's Reset, which prepares the kernel for new states. It divides the
// chains into groups and checks for a stop between groups. For the chains lo, …, hi−1 of a group,
// it calls f for each stage 0, …, stages−1. If stop returns true or f returns false, Renew returns
// [sampler.ErrStopped], and the next call continues at that point. The argument cost is the number
// of elementary operations in a stage of one chain.
func (c *Cursor) Renew(stop func() bool, stages, cost int, f func(stage, lo, hi int) (bool, error)) error {
	if c.renews(stop) {
		c.Clear()
		c.renewing = true
	}
	c.Begin(stop)
	n := len(c.Info)
	for c.renewed < n {
		lo, hi := span(c.renewed, n, cost)
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
			if c.Done(Times(hi-lo, cost)) && hi-lo == 1 && c.stage < stages {
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

// CheckStart returns a *[sampler.StartError] if the energy e[s] of a chain s = lo, …, hi−1 is not
// finite. The error is for the first such chain. CheckStart returns nil if all energies are finite.
func CheckStart(e []float64, lo, hi int) error {
	err := sampler.CheckStart(e[lo:hi])
	if start, ok := err.(*sampler.StartError); ok {
		start.Chain += lo
	}
	return err
}

// Fields reads or writes the cursor's part of a checkpoint: the position and, if a step is partly
// done, Info. A kernel calls Fields after it has read or written its own fields, because the cursor
// comes last in a checkpoint. The argument updates is the number of updates per chain and step.
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

// kept lists the errors of chains that a checkpoint can represent.
var kept = []error{nil, sampler.ErrNaN, sampler.ErrZero}

// InfoFields reads or writes a kernel's reports on a step, one per chain.
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

// PollWork is the number of elementary operations, such as evaluations of a site, between two
// checks for a stop. That many operations take about a millisecond. Tests lower this number.
// Results do not depend on it.
var PollWork = 1 << 20

// poll counts work and checks for a stop once per PollWork operations.
type poll struct {
	Stop    func() bool // reports whether the call has to stop; nil means that it never has to
	Stopped bool
	Work    int
}

// Begin prepares p for a call of the kernel. The call ends early if stop returns true.
func (p *poll) Begin(stop func() bool) { p.Stop, p.Stopped = stop, false }

// Done adds the given number of elementary operations to the work of the kernel. It reports whether
// the call of the kernel must end. It calls p.Stop only once per [PollWork] operations.
func (p *poll) Done(operations int) bool {
	if p.Work += operations; p.Work >= PollWork {
		p.Work = 0
		p.Stopped = p.Stopped || p.Stop != nil && p.Stop()
	}
	return p.Stopped
}

// Times returns a·b, or PollWork if that is smaller.
func Times(a, b int) int {
	if b > 0 && a >= PollWork/b {
		return PollWork
	}
	return a * b
}

// chunk is the number of sites for which random bits are drawn at a time.
const chunk = 256

// SiteWork is the number of elementary operations in a redraw of one site.
const SiteWork = 16

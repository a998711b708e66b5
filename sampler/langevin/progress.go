package langevin

import (
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// progress is where a step, or a Reset, stands that was stopped: chains before
// chain are done. Between steps it is zero.
type progress struct {
	chain   int
	pending []sampler.Info // what the step did so far, by chain

	// The proposal of the chain is drawn: its stream before that, which the caller
	// and a checkpoint see, and after. Only in memory.
	proposed      bool
	before, after sampler.Stream

	renewing bool // a Reset
}

func newProgress(chains int) progress { return progress{pending: make([]sampler.Info, chains)} }

func (p *progress) clear() {
	p.chain, p.proposed, p.renewing = 0, false, false
	clear(p.pending)
}

// together is the number of coordinates of chains that move between two questions
// whether to stop: about a millisecond, normal numbers being what takes longest.
const together = 1 << 16

// span returns the chains from the present one on that move together.
func (p *progress) span(sites int) (lo, hi int) {
	return p.chain, min(p.chain+max(1, together/sites), len(p.pending))
}

// fields goes through p. A chain that failed ends the run with its step.
func (p *progress) fields(f *wire.Fields) {
	if f.Reading() {
		p.clear()
	}
	f.Int("chain of a step", &p.chain, 0, len(p.pending)-1)
	for c := range p.pending[:p.chain] {
		t := &p.pending[c]
		failed := t.Err != nil
		f.Counts("sites moved", &t.Moved)
		f.Int("invalid proposals", &t.Invalid, 0, 1)
		f.Bool("a failure", &failed)
		f.Float64(&t.Energy)
		f.Float64(&t.Accept)
		if failed && t.Err == nil {
			t.Err = sampler.ErrNaN
		}
	}
}

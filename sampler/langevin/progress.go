package langevin

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// progress is where a step, or a Reset, stands that was stopped: chains before
// chain are done. Between steps it is zero.
type progress struct {
	chain int
	told  []sampler.Info // what the step did so far, by chain

	// The proposal of the chain is drawn: its stream before that, which the caller
	// and a checkpoint see, and after. Only in memory.
	proposed      bool
	before, after sampler.Stream

	renewing bool // a Reset
}

func newProgress(chains int) progress { return progress{told: make([]sampler.Info, chains)} }

func (p *progress) clear() {
	p.chain, p.proposed, p.renewing = 0, false, false
	clear(p.told)
}

// together is the number of coordinates of chains that move between two questions
// whether to stop: about a millisecond, normal numbers being what takes longest.
const together = 1 << 16

// span returns the chains from the present one on that move together.
func (p *progress) span(sites int) (lo, hi int) {
	return p.chain, min(p.chain+max(1, together/sites), len(p.told))
}

// append appends p to a checkpoint. A chain that failed ends the run with its step.
func (p *progress) append(b []byte) []byte {
	b = wire.AppendInts(b, p.chain)
	for _, t := range p.told[:p.chain] {
		failed := 0
		if t.Err != nil {
			failed = 1
		}
		b = wire.AppendInts(b, t.Moved, t.Invalid, failed)
		b = wire.AppendFloat64s(b, []float64{t.Energy, t.Accept})
	}
	return b
}

// restore reads what append wrote.
func (p *progress) restore(b []byte) error {
	p.clear()
	var at [1]uint64
	b, err := wire.ReadUint64s(b, at[:])
	if err != nil {
		return err
	}
	if at[0] >= uint64(len(p.told)) {
		return fmt.Errorf("langevin: the checkpoint stands at chain %d, want < %d", at[0], len(p.told))
	}
	for c := range p.told[:at[0]] {
		var counts [3]uint64
		var numbers [2]float64
		if b, err = wire.ReadUint64s(b, counts[:]); err != nil {
			return err
		}
		if b, err = wire.ReadFloat64s(b, numbers[:]); err != nil {
			return err
		}
		if counts[0] > math.MaxInt || counts[1] > 1 || counts[2] > 1 {
			return fmt.Errorf("langevin: the checkpoint has a step of %d moves and %d invalid ones", counts[0], counts[1])
		}
		p.told[c] = sampler.Info{Moved: int(counts[0]), Invalid: int(counts[1]), Energy: numbers[0], Accept: numbers[1]}
		if counts[2] == 1 {
			p.told[c].Err = sampler.ErrNaN
		}
	}
	p.chain = int(at[0])
	return wire.ReadEnd(b)
}

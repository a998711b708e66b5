package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// cursor is where a step that can stop stands: chains before chain have made all
// of their updates, chain itself some. Between steps it is zero.
type cursor struct {
	chain, update int
	moved         []int  // by chain, in this step
	failed        []bool // chains that cannot go on
}

func newCursor(chains int) cursor {
	return cursor{moved: make([]int, chains), failed: make([]bool, chains)}
}

func (c *cursor) next() { c.chain, c.update = c.chain+1, 0 }

func (c *cursor) clear() {
	c.chain, c.update = 0, 0
	clear(c.moved)
	clear(c.failed)
}

// append appends the cursor to a checkpoint.
func (c *cursor) append(b []byte) []byte {
	b = wire.AppendInts(b, c.chain, c.update)
	b = wire.AppendInts(b, c.moved...)
	for _, f := range c.failed {
		flag := 0
		if f {
			flag = 1
		}
		b = wire.AppendInts(b, flag)
	}
	return b
}

// restore reads what append wrote and returns the rest; updates is the number of
// updates of a chain in a step.
func (c *cursor) restore(b []byte, updates int) ([]byte, error) {
	words := make([]uint64, 2+2*len(c.moved))
	b, err := wire.ReadUint64s(b, words)
	if err != nil {
		return nil, err
	}
	if words[0] >= uint64(len(c.moved)) || words[1] > uint64(updates) {
		return nil, fmt.Errorf("mcmc: the checkpoint stands at update %d of chain %d, want < %d of chain < %d", words[1], words[0], updates, len(c.moved))
	}
	c.chain, c.update = int(words[0]), int(words[1])
	for s := range c.moved {
		c.moved[s], c.failed[s] = int(words[2+s]), words[2+len(c.moved)+s] == 1
	}
	return b, nil
}

// pollWork is the number of elementary operations, sites evaluated for instance,
// between two questions whether to stop: about a millisecond.
const pollWork = 1 << 20

// updateWork is how many elementary operations a level of a site costs.
const updateWork = 16

// poll asks whether to stop once in pollWork operations.
type poll struct {
	stop    func() bool // nil: never
	stopped bool
	work    int
}

// done counts work and reports whether to stop.
func (p *poll) done(work int) bool {
	if p.work += work; p.work >= pollWork {
		p.work = 0
		p.stopped = p.stop != nil && p.stop()
	}
	return p.stopped
}

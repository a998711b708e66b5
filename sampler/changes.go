package sampler

import "github.com/gibbsite-go/gibbsite/energy"

// changes evaluates an energy.Incremental model along the chains of a block: the
// states last loaded from the current ones.
type changes struct {
	model     energy.Incremental
	size      int       // of the cache of a chain
	now, next []float64 // caches of the current states and of those last loaded
	known     bool      // now holds caches
}

func newChanges(m energy.Incremental, chains int) *changes {
	n := m.CacheLen()
	return &changes{model: m, size: n, now: make([]float64, chains*n), next: make([]float64, chains*n)}
}

// field stores energies and fields of the states y; x are the current states,
// nil if there are none.
func (c *changes) field(e []float64, h []float32, y, x []int32) {
	if x != nil && !c.known {
		// After a checkpoint. The caches are functions of the states, so that
		// making them afresh leads to the same bits; e and h are overwritten.
		c.model.FieldFrom(e, h, c.now, x, nil, nil)
		c.known = true
	}
	c.model.FieldFrom(e, h, c.next, y, c.now, x)
}

// accept makes the cache last loaded for chain s its current one, acceptAll those
// of every chain.
func (c *changes) accept(s int) {
	copy(c.now[s*c.size:(s+1)*c.size], c.next[s*c.size:])
}

func (c *changes) acceptAll() {
	c.now, c.next = c.next, c.now
	c.known = true
}

// forget says that the current states have come from elsewhere.
func (c *changes) forget() { c.known = false }

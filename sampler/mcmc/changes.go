package mcmc

// changes evaluates an incremental model along the chains of a block: the states
// last loaded from the current ones.
type changes struct {
	from      evaluation
	size      int       // of the cache of a chain
	now, next []float64 // caches of the current states and of those last loaded
	known     bool      // now holds caches
}

// evaluation is FieldFrom of energy.Incremental or HiddenFieldFrom of
// energy.IncrementalBipartite.
type evaluation func(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)

func newChanges(from evaluation, n, chains int) *changes {
	return &changes{from: from, size: n, now: make([]float64, chains*n), next: make([]float64, chains*n)}
}

// field stores energies and fields of the states y; x are the current states,
// nil if there are none.
func (c *changes) field(e []float64, h []float32, y, x []int32) {
	if x != nil && !c.known {
		// After a checkpoint. The caches are functions of the states, so that
		// making them afresh leads to the same bits; e and h are overwritten.
		c.from(e, h, c.now, x, nil, nil)
		c.known = true
	}
	c.from(e, h, c.next, y, c.now, x)
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

package mcmc

import "github.com/gibbsite-go/gibbsite/internal/apart"

// changes evaluates an incremental model along the chains of a block: new states
// from the current ones.
type changes struct {
	from      evaluation
	size      int       // of the cache of a chain
	now, next []float64 // caches of the current and of the last loaded states
	known     []bool    // by chain: now holds its cache
}

// evaluation is FieldFrom of energy.Incremental or HiddenFieldFrom of
// energy.IncrementalBipartite.
type evaluation func(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)

func newChanges(from evaluation, n, chains int) *changes {
	return apart.New(changes{from: from, size: n, now: apart.Make[float64](chains * n), next: apart.Make[float64](chains * n), known: apart.Make[bool](chains)})
}

// field stores energies and fields of the states y of the chains lo … hi−1. x are the
// current states, nil if there are none. All slices hold these chains only.
func (c *changes) field(lo, hi int, e []float64, h []float32, y, x []int32) {
	now, next := c.now[lo*c.size:hi*c.size], c.next[lo*c.size:hi*c.size]
	if x == nil {
		c.from(e, h, next, y, nil, nil)
		return
	}
	for s := lo; s < hi; s++ {
		if !c.known[s] {
			// After a checkpoint. The caches are functions of the states, so that
			// making them afresh leads to the same bits; e and h are overwritten.
			c.from(e, h, now, x, nil, nil)
			c.setKnown(lo, hi, true)
			break
		}
	}
	c.from(e, h, next, y, now, x)
}

func (c *changes) setKnown(lo, hi int, known bool) {
	for s := lo; s < hi; s++ {
		c.known[s] = known
	}
}

// accept makes the cache last loaded for chain s its current one, acceptAll those
// of every chain.
func (c *changes) accept(s int) {
	copy(c.now[s*c.size:(s+1)*c.size], c.next[s*c.size:])
	c.known[s] = true
}

func (c *changes) acceptAll() {
	c.now, c.next = c.next, c.now
	c.setKnown(0, len(c.known), true)
}

// forget drops the caches of the current states, which have been replaced from outside.
func (c *changes) forget() { clear(c.known) }

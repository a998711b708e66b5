package sampler

import "github.com/gibbsite-go/gibbsite/internal/scratch"

// sit finds a seat for a block of a Lean run, with its states and streams.
func (c *Runner[S]) sit(b *block[S]) *seat[S] {
	s := c.depot.sit(b.chains)
	s.x = c.states(b)
	for i := range s.streams {
		s.streams[i].Seed(b.seed, uint64(c.cfg.First+b.first+i))
		s.streams[i].seek(c.places[b.first+i])
	}
	return s
}

// rise notes where the streams are and gives the seat back.
func (c *Runner[S]) rise(b *block[S], s *seat[S]) {
	for i := range s.streams {
		c.places[b.first+i] = s.streams[i].pos
	}
	c.depot.rise(s)
}

// states returns the states of a block.
func (c *Runner[S]) states(b *block[S]) []S { return c.x[b.first*c.sites : (b.first+b.chains)*c.sites] }

// seated calls f where the block has its kernel, streams and info. Of a Lean run
// these are borrowed; exact says that the kernel must be the one that was parked,
// otherwise it wants a Reset.
func (c *Runner[S]) seated(b *block[S], exact bool, f func(p place[S]) error) (err error) {
	last := b.first + b.chains
	if c.depot == nil {
		return c.near(b, place[S]{c.states(b), c.info[b.first:last], c.streams[b.first:last]}, f)
	}
	s := c.sit(b)
	k, err := c.depot.open(s, b.chains, b.parked, exact)
	if err != nil {
		c.rise(b, s)
		return err
	}
	b.kernel = k
	done := false
	defer func() { // also if f panics: then what the kernel says of itself is kept as it is
		b.kernel = nil
		b.size = stepSize(k)
		kept, parkErr := c.depot.park(s, k, b.chains, b.parked, !done)
		if b.parked = kept; err == nil {
			err = parkErr
		}
		c.rise(b, s)
	}()
	err = f(s.place)
	done = true
	return err
}

// closeBy is how many sites of states a block copies to where it moves them.
const closeBy = 1 << 14

// near calls f where what the block writes shares no cache line with other blocks,
// and stores it at p, where all blocks lie side by side. States beyond closeBy stay
// there: they share two lines of many.
func (c *Runner[S]) near(b *block[S], p place[S], f func(p place[S]) error) error {
	if b.near == nil {
		b.near = &place[S]{info: scratch.Apart[Info](b.chains), streams: scratch.Apart[Stream](b.chains)}
		if len(p.x) <= closeBy {
			b.near.x = scratch.Apart[S](len(p.x))
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

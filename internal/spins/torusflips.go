package spins

import "github.com/gibbsite-go/gibbsite/internal/simd"

// FlipScratch is the workspace of one worker for Flip.
type FlipScratch struct {
	Scratch
	near [3 * strip]uint64
}

// Flip draws which sites of a strip of a colour flip, given the other colour, all at once. It
// adds the sites that are not fixed to t, by their old states and neighbours, and returns the
// tally of all sites of the strip in their new states. Call Close when all strips are done.
func (s *State) Flip(t *simd.FlipTally, colour, job int, o *simd.FlipOdds, from Source, w *FlipScratch) (delta Tally) {
	lo := job * strip
	hi := min(lo+strip, s.words)
	s.neighbours(colour, lo, hi, &w.Scratch)
	near, n := w.near[:3*(hi-lo)], simd.BitSites/64
	for at := 0; at < hi-lo; at += n {
		for d := range w.count {
			copy(near[3*at+d*n:][:n], w.count[d][at:])
		}
	}
	own, now := s.colour[colour][s.pad+lo:s.pad+hi], w.draw[:hi-lo]
	simd.FlipBits(now, own, near, o, from.ARS, from.Seed, from.Chain, from.Group+groups(lo))
	s.keep(colour, lo, now, own)
	var forth, after simd.FlipTally
	loose := s.valid
	if s.loose[colour] != nil {
		loose = s.loose[colour]
	}
	simd.TallyFlips(&forth, &after, own, now, near, near, loose[lo:hi])
	for x := range after.Sites {
		for k, sites := range after.Sites[x] {
			flips := forth.Flips[x][k]
			t.Sites[x][k] += sites + flips - forth.Flips[1-x][k]
			t.Flips[x][k] += flips
			delta.Moved += flips
			delta.Up += x * sites
			delta.Bonds += x * k * sites
		}
	}
	if s.loose[colour] != nil {
		delta = s.tally(&w.Scratch, now, own, lo)
	}
	copy(own, now)
	return delta
}

package spins

import "github.com/gibbsite-go/gibbsite/internal/simd"

// FlipJobs returns the number of strips of a state, one colour behind the other.
func (t *Torus) FlipJobs() int { return (2*t.words + strip - 1) / strip }

// FlipGroups returns the number of groups of a random stream that a proposal takes.
func (t *Torus) FlipGroups() uint64 { return 2 * t.Groups() }

// piece is a part of a strip in one colour: its words, and the first of them in the strip.
type piece struct{ colour, lo, hi, at int }

// pieces returns the parts of a strip, of which one may be empty, and the number
// of its words.
func (t *Torus) pieces(job int) (p [2]piece, n int) {
	lo := job * strip
	hi := min(lo+strip, 2*t.words)
	first := piece{0, min(lo, t.words), min(hi, t.words), 0}
	second := piece{1, max(lo, t.words) - t.words, max(hi, t.words) - t.words, first.hi - first.lo}
	return [2]piece{first, second}, hi - lo
}

// Propose draws which sites of a strip flip, all at once, stores in next what they are
// then, and adds to t the sites by their states and neighbours in s. When all strips are
// done, Close of next must follow.
func (s *State) Propose(t *simd.FlipTally, next *State, job int, o *simd.FlipOdds, from Source, w *Scratch) {
	p, n := s.pieces(job)
	for _, p := range p {
		s.gather(p, w)
	}
	simd.FlipBits(w.draw[:n], w.own[:n], &w.count, o, from.ARS, from.Seed, from.Chain, from.Group+groups(job*strip))
	for _, p := range p {
		to := next.part(p)
		own, flip := w.own[p.at:][:len(to)], w.draw[p.at:][:len(to)]
		for i, v := range own {
			to[i] = v ^ flip[i]
		}
	}
	s.tallyFlips(t, job, n, w)
}

// Flips adds to t the sites of a strip by their states and neighbours in s; those flip
// that are different in the state to.
func (s *State) Flips(t *simd.FlipTally, to *State, job int, w *Scratch) {
	p, n := s.pieces(job)
	for _, p := range p {
		own := s.gather(p, w)
		other, flip := to.part(p)[:len(own)], w.draw[p.at:][:len(own)]
		for i, v := range own {
			flip[i] = v ^ other[i]
		}
	}
	s.tallyFlips(t, job, n, w)
}

// part returns the words of a part of a strip.
func (s *State) part(p piece) []uint64 { return s.colour[p.colour][s.pad+p.lo : s.pad+p.hi] }

// gather takes the words of a part of a strip and counts their neighbours.
func (s *State) gather(p piece, w *Scratch) (own []uint64) {
	if p.lo == p.hi {
		return nil
	}
	s.neighbours(p.colour, p.lo, p.hi, w, p.at)
	own = w.own[p.at:][:p.hi-p.lo]
	copy(own, s.part(p))
	return own
}

// tallyFlips counts the words of a strip, of which those sites flip that are set in
// w.draw.
func (s *State) tallyFlips(t *simd.FlipTally, job, n int, w *Scratch) {
	simd.TallyFlips(t, w.own[:n], w.draw[:n], s.valid[job*strip:][:n], &w.count)
}

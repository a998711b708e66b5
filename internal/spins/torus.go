// Package spins redraws hundreds of two-level sites at a time. The probability of a site's new
// state depends on the number of its neighbours in state 1. There are four types:
//
//	Torus     a bit per site    a lattice of two dimensions, one colour at a time
//	Grid      a bit per site    a lattice of two dimensions, all sites at once
//	Graph     a bit per chain   any graph with up to MostNear neighbours per site
//	RowGraph  a byte per chain  any graph, by the sum over the neighbours
//
// Each type is an immutable arrangement of sites. The states are held by a [State], [GridState],
// [Chains] or [RowChains].
//
// Every site has its own place in a random stream: the bits that decide about a site do not depend
// on other sites. Parts of a lattice can therefore be redrawn at the same time, and the result does
// not depend on the number of workers.
package spins

import (
	"fmt"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Torus is a periodic lattice of two dimensions, divided into the two colours of a chequerboard. A
// site has colour 0 if the sum of its row and column is even, and otherwise colour 1. A Torus is
// immutable.
//
// The sites of a colour are the bits of a string, row by row. With n sites of the colour per row,
// site j of row r is bit rn + j. Its four neighbours are bits of the other colour's string:
//
//	(r−1)n + j,  (r+1)n + j,  rn + j,
//	rn + j − 1 if r plus the site's colour is even, and otherwise rn + j + 1.
//
// The string is continued periodically at both ends.
type Torus struct {
	rows, n int
	sites   int // number of sites of a colour
	// number of words that hold the sites of a colour, padded to whole registers
	words int
	// number of words before and after the sites, for the periodic continuation
	pad         int
	near        [2]*simd.BitTorus // offsets of the neighbours, by the colour that is redrawn
	even        []uint64          // mask of the sites in even rows
	first, last []uint64          // masks of the sites that are first or last in their row
	valid       []uint64          // mask of the bits that are sites
	// per colour: mask of the sites that keep their states; nil means none
	fixed [2][]uint64
	// per colour: mask of the sites that are not fixed; nil if none is fixed
	loose [2][]uint64
}

// strip is the number of words that one job redraws.
const strip = len(simd.Counts{}[0])

// NewTorus returns a torus. It panics unless both sides are even and ≥ 4.
func NewTorus(rows, cols int) *Torus {
	if rows < 4 || cols < 4 || rows%2 != 0 || cols%2 != 0 {
		panic(fmt.Sprintf("spins: NewTorus: %d rows and %d columns, want even numbers ≥ 4", rows, cols))
	}
	n := cols / 2
	t := &Torus{rows: rows, n: n, sites: rows * n, pad: n/64 + 3}
	t.words = (t.sites + simd.BitSites - 1) / simd.BitSites * (simd.BitSites / 64)
	left, right := [2]int{n - 1, -1}, [2]int{1 - n, 1}
	t.near[0] = simd.NewBitTorus([6]int{-n, n, left[0], left[1], right[0], right[1]})
	t.near[1] = simd.NewBitTorus([6]int{-n, n, right[0], right[1], left[0], left[1]})
	t.first, t.last, t.valid = masks(rows, n, t.words)
	t.even = make([]uint64, t.words)
	for i := range t.sites {
		if i/n%2 == 0 {
			set(t.even, i)
		}
	}
	return t
}

// masks returns, for sites row by row, the masks of the sites that are first and last in their row,
// and of all sites.
func masks(rows, n, words int) (first, last, valid []uint64) {
	first, last, valid = make([]uint64, words), make([]uint64, words), make([]uint64, words)
	for i := range rows * n {
		set(valid, i)
	}
	for r := range rows {
		set(first, r*n)
		set(last, r*n+n-1)
	}
	return first, last, valid
}

// Fix makes Redraw and Flip keep the states of the sites i with fixed[i] ≥ 0, where fixed is a
// lattice in row-major order. Call it before any other use of the torus.
func (t *Torus) Fix(fixed []int32) {
	for c := range t.fixed {
		t.fixed[c] = make([]uint64, t.words)
		at := 0
		for r := range t.rows {
			for j := (r + c) % 2; j < 2*t.n; j += 2 {
				if fixed[2*t.n*r+j] >= 0 {
					set(t.fixed[c], at)
				}
				at++
			}
		}
		t.loose[c] = make([]uint64, t.words)
		for i, v := range t.valid {
			t.loose[c][i] = v &^ t.fixed[c][i]
		}
	}
}

// keep restores the old states of fixed sites in now, which holds redrawn words from word lo on. The
// mask fixed holds the fixed sites of all words; nil means none.
func keep(now, old, fixed []uint64, lo int) {
	if fixed != nil {
		for i, v := range fixed[lo : lo+len(now)] {
			now[i] ^= (now[i] ^ old[i]) & v
		}
	}
}

// Jobs returns the number of strips into which the sites of a colour are divided. A strip is a
// range of the colour's string (see [Torus]) that a worker redraws as one job.
func (t *Torus) Jobs() int { return (t.words + strip - 1) / strip }

// Groups returns how many groups of 64 random words a redraw of a colour consumes.
func (t *Torus) Groups() uint64 { return groups(t.words) }

// groups returns the number of groups of a random stream that a redraw of the given number of words
// consumes. The number must be a multiple of the number of words in a register.
func groups(words int) uint64 { return uint64(words) / (simd.BitSites / 64) * simd.BitGroups }

// State is the state of a chain on a torus.
type State struct {
	*Torus
	colour [2][]uint64
}

// NewState returns a state in which all sites are 0.
func (t *Torus) NewState() *State {
	s := &State{Torus: t}
	for c := range s.colour {
		s.colour[c] = padded.Make[uint64](t.words + 2*t.pad)
	}
	return s
}

// Scratch is the workspace of one worker: neighbour counts and redrawn words.
type Scratch struct {
	count simd.Counts
	draw  [strip]uint64
}

// Source identifies the random bits of a redraw. They were reserved by sampler.Stream.Reserve. The
// generator is ARS4x32 if ARS is true, and otherwise Philox4x32.
type Source struct {
	ARS                bool
	Seed, Chain, Group uint64 // key of the generator, number of the stream, first group
}

// Tally holds counts for sites of one colour. Bonds is the number of pairs of neighbours that are
// both in state 1. Up is the number of sites in state 1, and Moved is the number of sites that a
// redraw changed.
type Tally struct{ Bonds, Up, Moved int }

// Add adds the counts of u to t.
func (t *Tally) Add(u Tally) {
	t.Bonds += u.Bonds
	t.Up += u.Up
	t.Moved += u.Moved
}

// Redraw redraws one job's strip of the given colour by heat bath. The other colour does not
// change. Redraw returns the tally of the strip. Call Close when all strips of the colour are done.
func (s *State) Redraw(colour, job int, o *simd.Odds, from Source, w *Scratch) Tally {
	lo := job * strip
	hi := min(lo+strip, s.words)
	s.neighbours(colour, lo, hi, w)
	simd.HeatBits(w.draw[:hi-lo], &w.count, o, from.ARS, from.Seed, from.Chain, from.Group+groups(lo))
	old := s.colour[colour][s.pad+lo : s.pad+hi]
	keep(w.draw[:hi-lo], old, s.fixed[colour], lo)
	delta := s.tally(w, w.draw[:hi-lo], old, lo)
	copy(old, w.draw[:])
	return delta
}

// Count returns the tally of one job's strip of the given colour. Nothing is redrawn, so Moved is
// 0.
func (s *State) Count(colour, job int, w *Scratch) Tally {
	lo := job * strip
	hi := min(lo+strip, s.words)
	s.neighbours(colour, lo, hi, w)
	now := s.colour[colour][s.pad+lo : s.pad+hi]
	return s.tally(w, now, now, lo)
}

// neighbours counts the neighbours of the words lo … hi−1 of a colour into the scratch.
func (s *State) neighbours(colour, lo, hi int, w *Scratch) {
	a, b := s.first[lo:hi], s.last[lo:hi]
	if colour == 1 {
		a, b = b, a
	}
	simd.TorusBits(&w.count, s.colour[1-colour], s.pad, 64*lo, s.near[colour], s.even[lo:hi], a, b)
}

// tally returns the tally of a range of words of a colour, beginning with word lo. The slices old
// and now hold these words before and after the redraw.
func (s *State) tally(w *Scratch, now, old []uint64, lo int) (t Tally) {
	whole, end := min(len(now), max(0, s.sites/64-lo)), min(len(now), max(0, (s.sites+63)/64-lo))
	c0, c1, c2 := w.count[0][:len(now)], w.count[1][:len(now)], w.count[2][:len(now)]
	old = old[:len(now)]
	begin := whole &^ (simd.BitSites/64 - 1)
	up, moved, bonds := simd.TallyTorus(now[:begin], old[:begin], &w.count)
	ones, twos, fours := 0, 0, 0
	for i := begin; i < end; i++ {
		mask := s.valid[lo+i]
		v := now[i] & mask
		up += bits.OnesCount64(v)
		moved += bits.OnesCount64((v ^ old[i]) & mask)
		ones += bits.OnesCount64(v & c0[i])
		twos += bits.OnesCount64(v & c1[i])
		fours += bits.OnesCount64(v & c2[i])
	}
	return Tally{Bonds: bonds + ones + 2*twos + 4*fours, Up: up, Moved: moved}
}

// Close restores the periodic continuation at both ends of a colour's string (see [Torus]) after
// sites of that colour have changed.
func (s *State) Close(colour int) { goOn(s.colour[colour], 64*s.pad, s.sites, s.n+64) }

// rowsOf returns the range of rows of one job, if the rows are divided among all jobs.
func (t *Torus) rowsOf(job, jobs int) (lo, hi int) {
	at := func(j int) int { return int(int64(t.rows/2)*int64(j)/int64(jobs)) * 2 }
	return at(job), at(job + 1)
}

// Spread writes states to the row-major lattice x as values 0 or 1. The rows of the lattice are
// divided into the given number of jobs, and one call writes the rows of one job.
func (s *State) Spread(x []int32, job, jobs int) {
	lo, hi := s.rowsOf(job, jobs)
	if lo == hi {
		return
	}
	cols := 2 * s.n
	simd.SpreadBits(x[lo*cols:hi*cols], s.colour[0][s.pad:], s.colour[1][s.pad:], lo*s.n, s.n)
}

// Pack sets the states of all sites to x. The lattice is row-major, and each entry is 0 or 1.
func (s *State) Pack(x []int32) {
	for c := range s.colour {
		clear(s.colour[c])
		v := s.colour[c][s.pad:]
		word, at := uint64(0), 0
		for r := range s.rows {
			row := x[2*s.n*r : 2*s.n*(r+1)]
			for j := (r + c) % 2; j < len(row); j += 2 {
				word |= uint64(row[j]&1) << (at & 63)
				if at++; at&63 == 0 {
					v[at/64-1], word = word, 0
				}
			}
		}
		if at&63 != 0 {
			v[at/64] = word
		}
		s.Close(c)
	}
}

// Differ returns the number of sites at which two states differ.
func (s *State) Differ(from *State) (n int) {
	for c := range s.colour {
		n += differ(s.colour[c][s.pad:], from.colour[c][s.pad:], s.valid)
	}
	return n
}

// differ returns the number of valid sites at which the strings a and b differ.
func differ(a, b, valid []uint64) (n int) {
	a, b = a[:len(valid)], b[:len(valid)]
	for i, v := range valid {
		n += bits.OnesCount64((a[i] ^ b[i]) & v)
	}
	return n
}

// FlipScratch is the workspace of one worker for [State.Flip].
type FlipScratch struct {
	Scratch
	near [3 * strip]uint64
}

// Flip flips random sites of one job's strip of the given colour. The other colour does not change.
// Flip counts in t the free sites by their old state, their number of neighbours in state 1, and
// whether they flip. It returns the tally of all sites of the strip in their new states. Call Close
// when all strips of the colour are done.
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
	keep(now, own, s.fixed[colour], lo)
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

func set(v []uint64, i int) { v[i/64] |= 1 << (i % 64) }

// get returns the 64 bits of v from bit i on.
func get(v []uint64, i int) uint64 {
	w, shift := i>>6, uint(i&63)
	return v[w]>>shift | v[w+1]<<(64-shift)
}

// put sets the n ≤ 64 bits of v from bit i on to the lowest n bits of b.
func put(v []uint64, i int, b uint64, n int) {
	w, shift, mask := i>>6, uint(i&63), ^uint64(0)>>(64-n)
	v[w] = v[w]&^(mask<<shift) | b&mask<<shift
	if shift > 0 {
		v[w+1] = v[w+1]&^(mask>>(64-shift)) | b&mask>>(64-shift)
	}
}

// goOn continues a string of n bits periodically, beyond both of its ends, by at least the number
// of bits in the argument bits. The string begins at the bit offset at.
func goOn(v []uint64, at, n, bits int) {
	piece := min(64, n)
	for i := 0; i < bits; i += piece {
		put(v, at+n+i, get(v, at+i), piece)
	}
	for i := piece; i < bits+piece; i += piece {
		put(v, at-i, get(v, at+n-i), piece)
	}
}

package spins

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Grid is a two-dimensional periodic lattice, for proposals that may change all sites at once.
// Unlike in a [Torus], the sites are not divided into two colours. They are the bits of one string,
// row by row: with n columns, the site in row r and column j is bit rn + j. Its neighbours in other
// rows are n bits away. Its neighbours in its own row are one bit away, or n−1 bits at the ends of
// the row. The string is continued periodically at both ends. A Grid is immutable.
type Grid struct {
	sites, cols int
	words       int // number of words that hold the sites, padded to whole registers
	pad         int // number of words before and after the sites, for the periodic continuation
	near        *simd.BitTorus
	first, last []uint64 // masks of the sites that are first or last in their row
	valid       []uint64 // mask of the bits that are sites
	fixed       []uint64 // mask of the sites that keep their states; nil means none
}

// NewGrid returns a grid. It panics unless both sides are ≥ 3, because on smaller grids the four
// neighbours of a site are not distinct.
func NewGrid(rows, cols int) *Grid {
	if rows < 3 || cols < 3 {
		panic(fmt.Sprintf("spins: NewGrid: %d rows and %d columns, want ≥ 3", rows, cols))
	}
	g := &Grid{sites: rows * cols, cols: cols, pad: (cols/64 + 3 + 7) &^ 7}
	g.words = (g.sites + simd.BitSites - 1) / simd.BitSites * (simd.BitSites / 64)
	g.near = simd.NewBitTorus([6]int{-cols, cols, cols - 1, -1, 1 - cols, 1})
	g.first, g.last, g.valid = masks(rows, cols, g.words)
	return g
}

// Fix makes [GridState.Propose] keep the states of the sites i with fixed[i] ≥ 0. Call it before
// any other use of the grid.
func (g *Grid) Fix(fixed []int32) {
	g.fixed = make([]uint64, g.words)
	for i, l := range fixed {
		if l >= 0 {
			set(g.fixed, i)
		}
	}
}

// Jobs returns the number of strips into which a state is divided. A strip is a range of the string
// (see [Grid]) that a worker processes as one job.
func (g *Grid) Jobs() int { return (g.words + strip - 1) / strip }

// Groups returns how many groups of 64 random words a proposal consumes.
func (g *Grid) Groups() uint64 { return groups(g.words) }

// GridState holds the state of a chain on a grid and, for every site, its number of neighbours in
// state 1.
type GridState struct {
	*Grid
	bits []uint64
	near []uint64 // neighbour counts, in the format of simd.GridBits
}

// NewState returns a state in which all sites are 0.
func (g *Grid) NewState() *GridState {
	return &GridState{g, padded.Make[uint64](g.words + 2*g.pad), padded.Make[uint64](3 * g.words)}
}

// strip returns the range of words of a job.
func (g *Grid) strip(job int) (lo, hi int) { return job * strip, min(job*strip+strip, g.words) }

// own returns the words lo … hi−1 of the sites.
func (s *GridState) own(lo, hi int) []uint64 { return s.bits[s.pad+lo : s.pad+hi] }

// Propose flips random sites of one job's strip, and stores the new states in dst. Each draw
// depends only on the present state s. Call dst.Close when all strips are done.
func (s *GridState) Propose(dst *GridState, job int, o *simd.FlipOdds, src Source) {
	lo, hi := s.strip(job)
	now, old := dst.own(lo, hi), s.own(lo, hi)
	simd.FlipBits(now, old, s.near[3*lo:3*hi], o, src.ARS, src.Seed, src.Chain, src.Group+groups(lo))
	keep(now, old, s.fixed, lo)
}

// Count stores in s the number of neighbours in state 1 for each site of one job's strip. It also
// updates three tallies for a proposal that led from a state y, the origin, to s. The tallies
// determine the probability of this proposal and of its reverse:
//
//   - forward counts the sites at which y and s differ, by state and number of neighbours in y;
//   - reverse counts all sites, by state and number of neighbours in s; its flips are the sites at
//     which y and s differ;
//   - fixed counts the sites that cannot flip, by state and number of neighbours in s.
//
// Count must have been called for y before, unless y is s itself.
func (s *GridState) Count(forward, reverse, fixed *simd.FlipTally, origin *GridState, job int) {
	lo, hi := s.strip(job)
	own, near := s.own(lo, hi), s.near[3*lo:3*hi]
	simd.GridBits(near, s.bits, s.pad, 64*lo, s.Grid.near, s.first[lo:hi], s.last[lo:hi])
	simd.TallyFlips(forward, reverse, origin.own(lo, hi), own, origin.near[3*lo:3*hi], near, s.valid[lo:hi])
	if s.fixed != nil {
		var none simd.FlipTally
		simd.TallyFlips(&none, fixed, own, own, near, near, s.fixed[lo:hi])
	}
}

// Close restores the periodic continuation at both ends of the string (see [Grid]) after sites
// have changed.
func (s *GridState) Close() { goOn(s.bits, 64*s.pad, s.sites, s.cols+64) }

// Spread stores the states of one job's strip in the row-major lattice x, as values 0 or 1.
func (s *GridState) Spread(x []int32, job int) {
	lo, hi := s.strip(job)
	simd.UnpackBits(x[64*lo:min(64*hi, s.sites)], s.own(lo, hi))
}

// Pack sets the states of all sites to x. The lattice is row-major, and each entry is 0 or 1. Pack
// does not count neighbours; call Count for that.
func (s *GridState) Pack(x []int32) {
	clear(s.bits)
	v := s.own(0, s.words)
	for i, level := range x[:s.sites] {
		v[i/64] |= uint64(level&1) << (i % 64)
	}
	s.Close()
}

// Differ returns the number of sites at which two states differ.
func (s *GridState) Differ(from *GridState) int {
	return differ(s.own(0, s.words), from.own(0, s.words), s.valid)
}

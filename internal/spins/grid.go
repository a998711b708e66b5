package spins

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Grid is a periodic lattice of two dimensions whose sites change all at once, so that
// they need no colours: they are the bits of one string, row by row. Site j of row r is
// bit rn + j, with n columns; its neighbours in other rows are n bits away, those beside
// it one bit, or n−1 at the ends of a row. The string goes on periodically at both of its
// ends. A Grid is immutable.
type Grid struct {
	sites, cols int
	words       int // that hold the sites, whole registers
	pad         int // words before and behind those
	near        *simd.BitTorus
	first, last []uint64 // of their row
	valid       []uint64 // sites
	fixed       []uint64 // those that keep their states; nil: none
}

// NewGrid returns a grid. It panics unless both sides are ≥ 3, so that four neighbours of
// a site are four.
func NewGrid(rows, cols int) *Grid {
	if rows < 3 || cols < 3 {
		panic(fmt.Sprintf("spins: NewGrid: %d rows and %d columns, want ≥ 3", rows, cols))
	}
	g := &Grid{sites: rows * cols, cols: cols, pad: (cols/64 + 3 + 7) &^ 7}
	g.words = (g.sites + simd.BitSites - 1) / simd.BitSites * (simd.BitSites / 64)
	g.near = simd.NewBitTorus([6]int{-cols, cols, cols - 1, -1, 1 - cols, 1})
	g.first, g.last, g.valid = make([]uint64, g.words), make([]uint64, g.words), make([]uint64, g.words)
	for i := range g.sites {
		set(g.valid, i)
	}
	for r := range rows {
		set(g.first, r*cols)
		set(g.last, r*cols+cols-1)
	}
	return g
}

// Fix makes Propose leave sites as they are: those at which fixed is not negative. It comes
// before any use of the grid.
func (g *Grid) Fix(fixed []int32) {
	g.fixed = make([]uint64, g.words)
	for i, l := range fixed {
		if l >= 0 {
			set(g.fixed, i)
		}
	}
}

// Jobs returns the number of strips of a state.
func (g *Grid) Jobs() int { return (g.words + strip - 1) / strip }

// Groups returns the number of groups of a random stream that a proposal takes.
func (g *Grid) Groups() uint64 { return groups(g.words) }

// GridState is one state of a grid, with the number of neighbours in state 1 of each
// site.
type GridState struct {
	*Grid
	bits []uint64
	near []uint64 // as simd.GridBits stores it
}

// NewState returns the state whose sites are all 0.
func (g *Grid) NewState() *GridState {
	return &GridState{g, apart.Make[uint64](g.words + 2*g.pad), apart.Make[uint64](3 * g.words)}
}

// strip returns the words of a job.
func (g *Grid) strip(job int) (lo, hi int) { return job * strip, min(job*strip+strip, g.words) }

// own returns the words of the sites lo … hi−1.
func (s *GridState) own(lo, hi int) []uint64 { return s.bits[s.pad+lo : s.pad+hi] }

// Propose draws which sites of a strip flip, all at once, and stores in next what they
// are then. When all strips are done, Close of next must follow.
func (s *GridState) Propose(next *GridState, job int, o *simd.FlipOdds, from Source) {
	lo, hi := s.strip(job)
	simd.FlipBits(next.own(lo, hi), s.own(lo, hi), s.near[3*lo:3*hi], o, from.ARS, from.Seed, from.Chain, from.Group+groups(lo))
	if s.fixed != nil {
		now, old := next.own(lo, hi), s.own(lo, hi)
		for i, v := range s.fixed[lo:hi] {
			now[i] ^= (now[i] ^ old[i]) & v
		}
	}
}

// Count finds the number of neighbours of the sites of a strip, and adds to back the
// sites by these and their state, of which those flip that are different in the state
// from, and to forth those that flip by state and neighbours in from, whose numbers of
// neighbours must be known. Of the sites in back it adds those that are fixed to still.
func (s *GridState) Count(forth, back, still *simd.FlipTally, from *GridState, job int) {
	lo, hi := s.strip(job)
	own, near := s.own(lo, hi), s.near[3*lo:3*hi]
	simd.GridBits(near, s.bits, s.pad, 64*lo, s.Grid.near, s.first[lo:hi], s.last[lo:hi])
	simd.TallyFlips(forth, back, from.own(lo, hi), own, from.near[3*lo:3*hi], near, s.valid[lo:hi])
	if s.fixed != nil {
		var none simd.FlipTally
		simd.TallyFlips(&none, still, own, own, near, near, s.fixed[lo:hi])
	}
}

// Close lets the string go on periodically, after it has changed.
func (s *GridState) Close() { goOn(s.bits, 64*s.pad, s.sites, s.cols+64) }

// Spread stores the sites of a strip in the lattice x, row-major.
func (s *GridState) Spread(x []int32, job int) {
	lo, hi := s.strip(job)
	simd.UnpackBits(x[64*lo:min(64*hi, s.sites)], s.own(lo, hi))
}

// Pack takes the sites from the lattice x, row-major, of levels 0 and 1. Numbers of
// neighbours are those of before.
func (s *GridState) Pack(x []int32) {
	clear(s.bits)
	v := s.own(0, s.words)
	for i, level := range x[:s.sites] {
		v[i/64] |= uint64(level&1) << (i % 64)
	}
	s.Close()
}

// Differ returns at how many sites two states of a grid differ.
func (s *GridState) Differ(from *GridState) int {
	return differ(s.own(0, s.words), from.own(0, s.words), s.valid)
}

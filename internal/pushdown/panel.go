package pushdown

import "math"

// panel is the rows of one level whose calls lie in one tile, at the site that is
// being read. Vectors hold a value of every row.
type panel struct {
	level       *level
	of          *arrangement
	keep        *store // nil for the top level
	first, last int    // the tile
	lo, n       int    // its rows: lo…lo+n of the level
	width       int    // n, rounded up to what the kernels like
	cols        int    // of width, those in use: the rest is rows that begin later
	scale       []int32
	bound       float64 // of offset + total before the row, for overshoot

	here, next   []float64 // [state]
	live, coming []bool
	call         []float64 // calls of all sites of the tile and after it
	callAt       []int32   // [site − first][call]: where in call, −1
	leave        []float64 // [exit] at this site
	leaves       []bool
	back         []float64 // [place] at this site
	backs        []bool
	joins        []join  // by group
	ahead        []ahead // by round
}

// resize returns a slice of n entries, cleared.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	x = x[:n]
	clear(x)
	return x
}

func (p *panel) begin(first, last, lo, n int, scale []int32) {
	v := p.level
	p.first, p.last, p.lo, p.n, p.width, p.scale = first, last, lo, n, (n+15)&^15, scale
	p.cols, p.bound = 16, math.Inf(-1)
	p.here, p.next = resize(p.here, len(v.states)*p.width), resize(p.next, len(v.states)*p.width)
	p.live, p.coming = resize(p.live, len(v.states)), resize(p.coming, len(v.states))
	p.call, p.callAt = p.call[:0], p.callAt[:0]
	p.leave, p.leaves = resize(p.leave, len(v.exits)*p.width), resize(p.leaves, len(v.exits))
	p.back, p.backs = resize(p.back, len(p.of.places)*p.width), resize(p.backs, len(p.of.places))
	if p.joins == nil {
		p.joins = make([]join, len(v.groups))
	}
	for i := range p.joins {
		j := &p.joins[i]
		j.at, j.row, j.runs, j.inTile = j.at[:0], j.row[:0], j.runs[:0], 0
	}
	for i := range p.ahead {
		p.ahead[i].from, p.ahead[i].ends = 0, 0
	}
}

// newCall returns where the vector of a call at the present site begins.
func (p *panel) newCall() int32 {
	at := len(p.call)
	if cap(p.call) < at+p.width {
		more := make([]float64, at, max(2*cap(p.call), at+p.width))
		copy(more, p.call)
		p.call = more
	}
	p.call = p.call[:at+p.width]
	clear(p.call[at:])
	return int32(at)
}

// store is what is kept of a level.
type store struct {
	site, start []int32 // of the rows, by ascending site
	offset      []int32
	before      []int32     // rows before a site
	leave       [][]float64 // [site·exits + κ][row]: nil where nothing leaves
	back        [][]float64 // [site·places + p][row]: what returns there
	scale       [][]int32   // [tile][position]: P
}

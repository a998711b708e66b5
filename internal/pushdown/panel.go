package pushdown

import "math"

// panel holds the rows of one level that are called at the sites of one tile, at the site being
// processed. A vector holds one value for each row.
type panel struct {
	level       *level
	of          *arrangement
	keep        *store // stored sums of the level; nil for the top level
	first, last int    // the tile is first…last−1
	lo, n       int    // first row and number of rows: the rows of the level are lo…lo+n−1
	width       int    // n rounded up to a multiple of 16 for the vector kernels
	cols        int    // number of columns in use; later columns are rows that begin later
	scale       []int32
	// largest value of offset plus log₂ of the total before the row, from which the excess of
	// the scale is computed
	bound float64

	here, next   []float64 // vectors by state, before and after the site
	live, coming []bool
	call         []float64 // vectors of the calls at all sites from the first of the tile on
	callAt       []int32   // index in call by site − first and call, −1 if there is none
	leave        []float64 // vectors by exit, at this site
	leaves       []bool
	back         []float64 // vectors by place of a return, at this site
	backs        []bool
	joins        []join  // calls so far of each group
	ahead        []ahead // precomputed returns of each round
}

// resize returns a slice of n zeros, which reuses the memory of x if possible.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	x = x[:n]
	clear(x)
	return x
}

// scratch returns n arbitrary entries, in the memory of x if it has space for them. Unlike
// slices.Grow, it neither copies x nor clears new memory.
func scratch[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
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

// come returns the first n entries of the vector for the state after the site. On the first use at
// a site, it clears the vector.
func (p *panel) come(state int32, n int) []float64 {
	y := p.next[int(state)*p.width:][:n]
	if !p.coming[state] {
		clear(y)
		p.coming[state] = true
	}
	return y
}

// callOf returns the vectors of calls, starting with that of call k at site e. Site e must be the
// site being processed.
func (p *panel) callOf(e, k int) []float64 {
	at := &p.callAt[(e-p.first)*len(p.level.calls)+k]
	if *at < 0 {
		*at = p.newCall()
	}
	return p.call[*at:]
}

// newCall appends a zero vector for a call and returns its index in call.
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

// store holds the results of a level that later steps need.
type store struct {
	site, start []int32 // call site and start of each row, by ascending site
	offset      []int32
	before      []int32     // number of rows called before each site
	leave       [][]float64 // sums by site·exits + exit and by row; nil if nothing leaves there
	back        [][]float64 // sums of returns by site·places + place and by row
	scale       [][]int32   // exponent P of the scale, by tile and position
}

// join lists the calls of a group so far: the indices of their vectors in panel.call, and the
// rows that they enter.
type join struct {
	at, row []int32
	runs    []run
	inTile  int // number of calls at sites of the tile; they come first
}

// run is a sequence of consecutive calls in a join that were made in the same tile. The field from
// is the index of its first call. The vectors of its calls have been scaled so that all returns use
// one exponent.
type run struct {
	from, tile, exponent int32
	dense                bool // true if the rows that the calls enter are consecutive
}

// ahead holds the sums of returns at several consecutive sites for the exits of one round. The
// sums cover the calls that were known at the first of these sites. Rows called after the tile
// are known at every site. One pass over their vectors serves all the sites.
type ahead struct {
	from, ends  int       // the sites are from…from+ends−1
	begin, upto int       // the calls are begin…upto−1
	scale       int32     // exponent of the caller's scale at site from
	width       int       // number of columns of x
	x           []float64 // sums of returns, indexed by end − from, node and row
	any         [aheadEnds]bool
}

const (
	aheadEnds  = 16
	aheadLeast = 24 // least number of calls for which precomputing returns pays off
	// largest change of the scale, in log₂, for which precomputed returns are still used
	aheadDrift = 60
)

// put adds a call that enters the given row of a tile. It returns log₂ of the factor by which
// the vector of the call must be multiplied, so that its returns use the exponent of its run.
func (j *join) put(at, row, tile, exponent int32) (by int32) {
	n := len(j.runs)
	if n == 0 || j.runs[n-1].tile != tile || exponent-j.runs[n-1].exponent > drift || j.runs[n-1].exponent-exponent > drift {
		j.runs = append(j.runs, run{int32(len(j.row)), tile, exponent, true})
		n++
	} else if j.row[len(j.row)-1] != row-1 {
		j.runs[n-1].dense = false
	}
	j.at, j.row = append(j.at, at), append(j.row, row)
	return exponent - j.runs[n-1].exponent
}

// drift is the largest change of exponent, in log₂, by which a call may be scaled to join a
// run.
const drift = 11

// arena allocates slices that remain valid until it is emptied.
type arena struct {
	chunks [][]float64
	used   int // number of entries in use in the current chunk
	chunk  int
}

func (a *arena) take(n int) []float64 {
	if n == 0 {
		return nil
	}
	for a.chunk < len(a.chunks) && a.used+n > len(a.chunks[a.chunk]) {
		a.chunk, a.used = a.chunk+1, 0
	}
	if a.chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]float64, max(n, chunkSize)))
	}
	x := a.chunks[a.chunk][a.used : a.used+n : a.used+n]
	a.used += n
	clear(x)
	return x
}

func (a *arena) empty() { a.chunk, a.used = 0, 0 }

const chunkSize = 1 << 16

func grid[T any](n, m int) [][]T {
	all, g := make([]T, n*m), make([][]T, n)
	for i := range g {
		g[i] = all[i*m : (i+1)*m : (i+1)*m]
	}
	return g
}

const (
	// number of sites in a tile; the rows of one start then fill two strips of the vector
	// kernel
	tileSites = 64
	lowest    = 0x1p-600 // minimum of a nonzero value; smaller values are raised to it
	faint     = 0x1p-300 // minimum of an edge weight; smaller weights are dropped
	// log₂ of the minimum weight of a return; its product with lowest and drift is still a
	// normal float64
	remote    = -411
	vanishing = -422 // log₂ of the smallest factor for lowest that gives a normal float64
	highest   = 100  // log₂ of the largest value of a row
)

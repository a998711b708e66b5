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

// come returns n entries of what comes to a state, zeros at first.
func (p *panel) come(state int32, n int) []float64 {
	y := p.next[int(state)*p.width:][:n]
	if !p.coming[state] {
		clear(y)
		p.coming[state] = true
	}
	return y
}

// callOf returns the vectors from that of call k of site e on, the present one.
func (p *panel) callOf(e, k int) []float64 {
	at := &p.callAt[(e-p.first)*len(p.level.calls)+k]
	if *at < 0 {
		*at = p.newCall()
	}
	return p.call[*at:]
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

// join lists the calls of a group so far: where their vectors are, and which
// rows they enter.
type join struct {
	at, row []int32
	runs    []run
	inTile  int // calls at sites of the tile: the first
}

// run is neighbours in a join that were called in one tile, from the number
// given on. Returns of them count on one exponent, to which their vectors have
// been brought.
type run struct {
	from, tile, exponent int32
	dense                bool // the rows follow each other
}

// ahead is what leaves callees at several ends, by the exits of a round, summed
// over the calls that were known at the first of these ends: whoever is called
// after the tile is known for every end. One pass over their vectors serves all
// ends.
type ahead struct {
	from, ends  int       // the ends from…from+ends−1
	begin, upto int       // the calls
	scale       int32     // of the caller at from
	width       int       // columns of x
	x           []float64 // [end − from][node][row]
	any         [aheadEnds]bool
}

const (
	aheadEnds  = 16
	aheadLeast = 24 // fewer calls are not worth it
	aheadDrift = 60 // log₂ of what the scale may change by
)

// put adds a call that enters a row of a tile. It returns log₂ of what its vector
// is to be multiplied by, so that what returns counts on the exponent of its run.
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

// drift is log₂ of what a call may be brought by to the exponent of its run.
const drift = 11

// arena gives out slices that live until it is emptied.
type arena struct {
	chunks [][]float64
	used   int // of the last chunk in use
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
	tileSites = 64       // rows of one start fill two strips of the kernel
	lowest    = 0x1p-600 // smaller values are raised to it
	faint     = 0x1p-300 // smaller weights are dropped
	remote    = -411     // log₂ of what a return weighs at least: times lowest and drift it is normal
	vanishing = -422     // log₂ of what lowest may be multiplied by: the product is normal
	highest   = 100      // log₂ of the greatest value
)

package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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

// begin starts the rows that are called at site e, and lists the calls of it.
func (s *spans) begin(p *panel, e int) {
	p.here, p.next = p.next, p.here
	p.live, p.coming = p.coming, p.live
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	if e < p.last {
		for r := p.keep.before[e]; r < p.keep.before[e+1]; r++ {
			at := int(r) - p.lo
			x := s.g.starts[p.keep.start[r]]
			if x.q >= 0 {
				q := int(s.g.local[x.q])
				if !p.live[q] {
					clear(p.here[q*p.width:][:p.width])
					p.live[q] = true
				}
				p.here[q*p.width+at] = 1
				p.keep.offset[r] = -p.scale[e+1]
			} else {
				k := s.g.halfCall(p.level, int(p.keep.start[r]))
				if calls[k] < 0 {
					calls[k] = p.newCall()
				}
				p.call[int(calls[k])+at] = 1
				p.keep.offset[r] = -p.scale[e]
			}
			p.bound = max(p.bound, float64(p.keep.offset[r])+s.total[e+1])
		}
	}
	rows := min(p.n, int(p.keep.before[e+1])-p.lo)
	p.cols = max(16, (rows+15)&^15)
}

// spans computes the same sums as a filter of numbers, in float64 and by the
// vector: all rows of a level whose calls lie in one tile of sites go through the
// sites together. A row is a start at the site of its call. Tiles are computed
// from the last to the first, and the whole sequence at the end, so that whatever
// is called after the tile is known for every end; what is called inside it is
// known when it returns.
//
// # Range
//
// A value of a row at position e stands for value·2^(P(e)+offset), where P
// belongs to tile and level and keeps the rows that live near 1, and the offset
// to the row; it is at most 2^100, and what is not zero and below 2^-600 is raised
// to it: a value is zero if and only if nothing leads there. Weights of a site
// below 2^-300 of their total are dropped, and returns below 2^-400 on the scale
// of their caller are raised. All weights are relative to the total of their
// site, so that what is changed is at most 2^-600·2^over, or 2^-300·2^over, of
// everything, over being how far P runs above the total. Sums where that may show
// are refused (ok = false). A filter of numbers has no such limits and takes over.
type spans struct {
	g      *Graph
	sites  int
	tile   int         // sites of a tile
	weight [][]float64 // [site][weight of an edge], relative
	total  []float64   // [position]: log₂ of the product of the totals before it
	need   [][]bool
	far    int

	levels []store
	panels []*panel
	tops   *panel
	states [][]float64 // of the top level: [position]
	memory arena

	dropped, faint, wide bool // raised to lowest, smaller than faint or remote, out of range
	over                 float64

	// Scratch.
	at           []int32
	coef, x, low []float64
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

// panelOf returns the open panel of a level, nil if there is none.
func (s *spans) panelOf(lv int32) *panel {
	p := s.panels[lv]
	if s.tops != nil && s.tops.n > 0 {
		if p = s.tops; lv != s.g.top {
			return nil
		}
	}
	if p == nil || p.n == 0 {
		return nil
	}
	return p
}

// raise puts lowest for what is smaller.
func (s *spans) raise(x []float64) {
	if simd.Raise(x, 1, lowest) {
		s.dropped = true
	}
}

// terms collects the edges to a target.
func (s *spans) terms(p *panel, f *fan, target int, w []float64) bool {
	s.at, s.coef = s.at[:0], s.coef[:0]
	for i := f.at[target]; i < f.at[target+1]; i++ {
		if x := w[f.w[i]]; x != 0 && p.live[f.from[i]] {
			s.at, s.coef = append(s.at, f.from[i]*int32(p.width)), append(s.coef, x)
		}
	}
	return len(s.at) > 0
}

// within reads site e as far as it stays inside the level or calls.
func (s *spans) within(p *panel, e int) {
	w, n := s.weight[e], p.cols
	for q := range p.coming {
		x := p.next[q*p.width:][:n]
		if p.coming[q] {
			clear(x)
		}
		if p.coming[q] = s.terms(p, &p.of.in, q, w); p.coming[q] {
			simd.Fold(x, n, p.here, s.at, s.coef)
		}
	}
	for k := range p.level.calls {
		at := int32(-1)
		if s.terms(p, &p.of.call, k, w) {
			at = p.newCall()
			simd.Fold(p.call[at:int(at)+n], n, p.here, s.at, s.coef)
		}
		p.callAt = append(p.callAt, at)
	}
}

// shift brings what comes after site e to its scale.
func (s *spans) shift(p *panel, e int) {
	by, n := power(p.scale[e]-p.scale[e+1]), p.cols
	for q := 0; q < len(p.coming); q++ {
		if !p.coming[q] {
			continue
		}
		from := q * p.width
		for n == p.width && q+1 < len(p.coming) && p.coming[q+1] {
			q++ // neighbours together
		}
		x := p.next[from : q*p.width+n]
		if by < 1 { // no value vanishes before it is raised
			s.dropped = simd.Raise(x, 1, lowest/by) || s.dropped
		}
		s.dropped = simd.Raise(x, by, lowest) || s.dropped
	}
}

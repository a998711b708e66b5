package pushdown

import (
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// spans computes the same sums as a filter of type algebra.Number, but in float64 by vector
// kernels. A row is a start together with the site of its call. All rows of a level that are
// called within one tile of sites are processed together. Tiles are computed from the last to
// the first, and the whole sequence at the end. Calls at sites after the tile are therefore
// known for every end, and calls inside the tile are known when they return.
//
// # Range
//
// A value x of a row at position e represents x·2^(P(e)+offset). P depends on the tile and the
// level and keeps the values of live rows near 1. The offset depends on the row. x is at most
// 2^100. Nonzero values below 2^-600 are raised to 2^-600, so a value is zero if and only if no run
// leads there. Weights of a site below 2^-300 of the site's total are dropped, and returns below
// 2^-400 on the scale of their caller are raised. All weights are relative to the total of their
// site. Let h be the largest excess of P over the total. Raising values therefore changes the sum
// by at most the fraction 2^(h−600), and dropping weights by at most 2^(h−300). If they could
// affect the result, the computation fails (ok = false), and a filter of type algebra.Number, which
// has no such limits, is used instead.
type spans struct {
	g      *Graph
	sites  int
	tile   int         // number of sites in a tile
	least  int         // minimum number of calls for which several sites are precomputed
	weight [][]float64 // relative weight by site and edge
	total  []float64   // by position, log₂ of the product of the totals of all sites before it
	need   [][]bool
	far    int
	meter  *poll.Meter // meter of the context; may be nil

	levels []store
	panels []*panel
	tops   *panel
	states [][]float64 // values of the top level by position and state
	memory arena

	// whether values were raised to lowest, whether weights below faint or returns below remote
	// occurred, and whether a value was out of range
	dropped, faint, wide bool
	over                 float64

	// Scratch.
	at           []int32
	coef, x, low []float64
}

// begin moves the panel to the position after site e and starts the rows that are called at
// that site.
func (s *spans) begin(p *panel, e int) {
	p.here, p.next = p.next, p.here
	p.live, p.coming = p.coming, p.live
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
				p.callOf(e, k)[at] = 1
				p.keep.offset[r] = -p.scale[e]
			}
			p.bound = max(p.bound, float64(p.keep.offset[r])+s.total[e+1])
		}
	}
	rows := min(p.n, int(p.keep.before[e+1])-p.lo)
	p.cols = max(16, (rows+15)&^15)
}

// panelOf returns the open panel of a level, or nil if there is none.
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

// raise replaces nonzero values below lowest by lowest.
func (s *spans) raise(x []float64) {
	if simd.Raise(x, 1, lowest) {
		s.dropped = true
	}
}

// terms collects the edges that lead to the given target and have a positive weight and a live
// source. It reports whether it found any.
func (s *spans) terms(p *panel, f *fan, target int, w []float64) bool {
	at, coef, live, n := s.at[:0], s.coef[:0], p.live, int32(p.width)
	for i := f.at[target]; i < f.at[target+1]; i++ {
		if x, from := w[f.w[i]], f.from[i]; x != 0 && live[from] {
			at, coef = append(at, from*n), append(coef, x)
		}
	}
	s.at, s.coef = at, coef
	return len(at) > 0
}

// within processes the moves of site e that stay inside the level or make a call.
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

// shift rescales the vectors after site e from the scale at e to the scale at e+1.
func (s *spans) shift(p *panel, e int) {
	by, n := algebra.Power(p.scale[e]-p.scale[e+1]), p.cols
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

// list adds the calls of site e to the joins of their groups, so that they can return later. If
// noted is not nil, it receives every call that is added.
func (s *spans) list(p *panel, e int, noted func(group int, call int32, l listing)) {
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	for i := range p.level.groups {
		to, j, callOf := &s.levels[p.level.groups[i].callee], &p.joins[i], p.of.callOf[i]
		for r := to.before[e]; r < to.before[e+1]; r++ {
			if k := callOf[s.g.plan.number[to.start[r]]]; k >= 0 && calls[k] >= 0 {
				by := j.put(calls[k], r, int32(e/s.tile), to.offset[r]+p.scale[e])
				if by != 0 {
					simd.Raise(p.call[calls[k]:][:p.cols], algebra.Power(by), 0)
				}
				if noted != nil {
					noted(i, k, listing{r, to.offset[r] + p.scale[e] - by, by})
				}
			}
		}
		if e < p.last {
			j.inTile = len(j.at)
		}
	}
}

// returns adds the sums that leave callees at site e by the exits of round i, for all rows of a
// caller at once. For each node, it computes one sum over all calls,
//
//	X[row] = Σ_j K_j[row]·R_j[e].
func (s *spans) returns(p *panel, i, e int) {
	v, r, n := p.level, &s.g.plan.rounds[i], p.cols
	j := &p.joins[r.group]
	if p.ahead == nil {
		p.ahead = make([]ahead, len(s.g.plan.rounds))
	}
	a := &p.ahead[i]
	s.look(p, r, a, e)
	any := a.begin < a.upto && a.any[e-a.from]
	// What is not ahead: calls of the tile, and those after from.
	near := a.begin + len(j.at) - a.upto
	s.coef = resize(s.coef, near*len(r.nodes))
	if s.leaving(p, r, e, p.scale[e], 0, a.begin, s.coef, near) {
		any = true
	}
	if s.leaving(p, r, e, p.scale[e], a.upto, len(j.at), s.coef[min(a.begin, len(s.coef)):], near) {
		any = true
	}
	if !any {
		return
	}
	s.x = resize(s.x, len(r.nodes)*n)
	if a.begin < a.upto && a.any[e-a.from] {
		for i := range r.nodes {
			copy(s.x[i*n:i*n+n], a.x[((e-a.from)*len(r.nodes)+i)*a.width:])
		}
		s.rise(s.x, a.scale-p.scale[e])
	}
	if near > 0 {
		if simd.Raise(s.coef, 1, algebra.Power(remote)) {
			s.faint = true
		}
		s.at = append(append(s.at[:0], j.at[:a.begin]...), j.at[a.upto:]...)
		simd.Fold(s.x, n, p.call, s.at, s.coef)
	}
	for i, node := range r.nodes {
		x := s.x[i*n : (i+1)*n]
		p.backs[node.place] = true
		add(p.back[int(node.place)*p.width:], x)
		to := p.of.places[node.place]
		if to.half < 0 {
			continue // close adds it
		}
		switch h := v.halves[to.half]; {
		case h.call >= 0:
			add(p.callOf(e, int(h.call)), x)
		default:
			p.leaves[h.exit] = true
			y := p.leave[int(h.exit)*p.width:][:n]
			add(y, x)
			s.raise(y)
		}
	}
}

// look ensures that the precomputed returns a cover site e. If there are too few calls for this to
// pay off, it sets a.upto = a.begin.
func (s *spans) look(p *panel, r *round, a *ahead, e int) {
	j := &p.joins[r.group]
	if e < a.from+a.ends {
		if by := a.scale - p.scale[e]; by <= aheadDrift && by >= -aheadDrift {
			return
		}
	}
	a.from, a.ends, a.scale, a.width = e, 1, p.scale[e], p.cols
	a.begin, a.upto = j.inTile, j.inTile
	if e < p.last || len(j.at)-j.inTile < s.least {
		return
	}
	a.ends, a.upto = min(aheadEnds, s.sites-e), len(j.at)
	nodes, calls := len(r.nodes), a.upto-a.begin
	s.coef = resize(s.coef, a.ends*nodes*calls)
	found := false
	for b := range a.ends {
		a.any[b] = s.leaving(p, r, e+b, a.scale, a.begin, a.upto, s.coef[b*nodes*calls:], calls)
		found = found || a.any[b]
	}
	if !found {
		return
	}
	if simd.Raise(s.coef, 1, algebra.Power(remote)) {
		s.faint = true
	}
	a.x = resize(a.x, a.ends*nodes*a.width)
	simd.Fold(a.x, a.width, p.call, j.at[a.begin:a.upto], s.coef)
}

// rise multiplies x by 2^n. No nonzero value becomes zero.
func (s *spans) rise(x []float64, n int32) {
	if n < 0 && simd.Raise(x, 1, 0x1p-1000*algebra.Power(-n)) {
		s.dropped = true
	}
	if n != 0 {
		simd.Raise(x, algebra.Power(n), 0)
	}
}

func add(dst, x []float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += y
	}
}

// leaving stores in coef the sums that leave the callees of calls begin…upto−1 at site e, on the
// given scale of the caller. Each node has a row in coef, and the rows have a common stride.
// leaving reports whether any sum is nonzero.
func (s *spans) leaving(p *panel, r *round, e int, scale int32, begin, upto int, coef []float64, next int) (any bool) {
	if begin == upto {
		return false
	}
	callee, j := p.level.groups[r.group].callee, &p.joins[r.group]
	to, in := &s.levels[callee], s.panelOf(callee)
	if s.tops != nil && s.tops.n > 0 {
		in = nil
	}
	exits := len(s.g.levels[callee].exits)
	for m, x := range j.runs {
		from, end := max(int(x.from), begin), upto
		if m+1 < len(j.runs) {
			end = min(upto, int(j.runs[m+1].from))
		}
		if from >= end {
			continue
		}
		rows := j.row[from:end]
		here := in != nil && int(rows[0]) >= in.lo && int(rows[0]) < in.lo+in.n // called within the tile
		by := 0.0
		for i, node := range r.nodes {
			for _, k := range node.exits {
				var left []float64
				lo := int32(0)
				if here {
					if !in.leaves[k] {
						continue
					}
					left, lo = in.leave[int(k)*in.width:][:in.width], int32(in.lo)
				} else if left = to.leave[e*exits+int(k)]; left == nil {
					continue
				}
				if by == 0 {
					by = s.factor(x.exponent + to.scale[x.tile][e] - scale)
				}
				any = true
				c := coef[i*next+from-begin:][:len(rows)]
				if x.dense {
					left = left[rows[0]-lo:][:len(c)]
					for a, y := range left {
						c[a] += float64(y * by)
					}
					continue
				}
				for a, row := range rows {
					c[a] += float64(left[row-lo] * by)
				}
			}
		}
	}
	return any
}

// factor returns 2^n. It records if the result is too small (faint) or too large (wide).
func (s *spans) factor(n int32) float64 {
	if n < vanishing {
		s.faint = true
	} else if n > 400 {
		s.wide = true
	}
	return algebra.Power(min(n, 400))
}

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
	joins        []join // by group
}

// join lists the calls of a group so far: where their vectors are, which rows
// they enter, and the exponent on which a return counts.
type join struct {
	at, row, exponent []int32
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

// open makes the panel of a level for a tile and reports whether it has rows.
func (s *spans) open(lv, tile, first, last int) bool {
	l := &s.levels[lv]
	lo, hi := int(l.before[first]), int(l.before[last])
	if s.panels[lv] == nil && lo < hi {
		s.panels[lv] = &panel{level: &s.g.levels[lv], of: &s.g.plan.levels[lv], keep: l}
	}
	p := s.panels[lv]
	if p == nil {
		return false
	}
	p.n = 0
	if lo == hi {
		return false
	}
	l.scale[tile] = resize(l.scale[tile], s.sites+1)
	p.begin(first, last, lo, hi-lo, l.scale[tile])
	return true
}

func (s *spans) openTop() {
	if s.tops == nil {
		s.tops = &panel{level: &s.g.levels[s.g.top], of: &s.g.plan.levels[s.g.top]}
		s.states = grid[float64](s.sites+1, len(s.tops.level.states))
		s.tops.keep = &store{back: make([][]float64, s.sites*len(s.tops.of.places)), before: make([]int32, s.sites+1)}
		for e := range s.tops.keep.before {
			s.tops.keep.before[e] = 1
		}
	}
	p := s.tops
	clear(p.keep.back)
	p.begin(0, 0, 0, 1, resize(p.scale, s.sites+1))
	p.here[int(s.g.begin)*p.width] = 1
	p.live[s.g.begin] = true
	p.bound = 0
	clear(s.states[0])
	s.states[0][s.g.begin] = 1
}

func (p *panel) begin(first, last, lo, n int, scale []int32) {
	v := p.level
	p.first, p.last, p.lo, p.n, p.width, p.scale = first, last, lo, n, (n+15)&^15, scale
	p.bound = math.Inf(-1)
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
		j.at, j.row, j.exponent = j.at[:0], j.row[:0], j.exponent[:0]
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

// each calls do for the panels that have rows.
func (s *spans) each(do func(p *panel)) {
	if s.tops != nil && s.tops.n > 0 {
		do(s.tops)
		return
	}
	for _, p := range s.panels {
		if p != nil && p.n > 0 {
			do(p)
		}
	}
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

// step reads site e: edges, then the returns round by round, then what begins.
func (s *spans) step(e int) {
	s.each(func(p *panel) { s.edges(p, e) })
	for i := range s.g.plan.rounds {
		r := &s.g.plan.rounds[i]
		if p := s.panelOf(r.level); p != nil && len(p.joins[r.group].at) > 0 {
			s.returns(p, r, e)
		}
	}
	s.each(func(p *panel) { s.close(p, e) })
	s.each(func(p *panel) { s.begin(p, e) })
	s.each(func(p *panel) { s.list(p, e) })
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

func (s *spans) edges(p *panel, e int) {
	w, n := s.weight[e], p.width
	for q := range p.coming {
		x := p.next[q*n : q*n+n]
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
	for k := range p.leaves {
		x := p.leave[k*n : k*n+n]
		if p.leaves[k] {
			clear(x)
		}
		if p.leaves[k] = s.terms(p, &p.of.out, k, w); p.leaves[k] {
			simd.Fold(x, n, p.here, s.at, s.coef)
			s.chop(x)
		}
	}
	for i := range p.backs {
		if p.backs[i] {
			clear(p.back[i*n : i*n+n])
		}
		p.backs[i] = false
	}
}

// close adds what returned, keeps what a draw will ask for and restores the
// scale.
func (s *spans) close(p *panel, e int) {
	n := p.width
	rows := min(p.n, int(p.keep.before[e])-p.lo)
	for i, yes := range p.backs {
		if !yes {
			continue
		}
		x := p.back[i*n : i*n+n]
		to := p.of.places[i]
		if to.state >= 0 {
			y := p.next[int(to.state)*n:][:n]
			if !p.coming[to.state] {
				clear(y)
				p.coming[to.state] = true
			}
			for j, v := range x {
				y[j] += v
			}
		}
		p.put(p.keep.back, e*len(p.of.places)+i, x[:rows], s)
	}
	for k, yes := range p.leaves {
		if yes {
			p.put(p.keep.leave, e*len(p.level.exits)+k, p.leave[k*n:k*n+rows], s)
		}
	}
	s.rescale(p, e)
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	for _, at := range calls {
		if at >= 0 {
			s.chop(p.call[at : int(at)+n])
		}
	}
	if p.bound > math.Inf(-1) {
		s.over = max(s.over, p.bound+float64(p.scale[e])-min(s.total[e], s.total[e+1]),
			p.bound+float64(p.scale[e+1])-s.total[e+1])
	}
}

// put keeps the values of the rows of a panel.
func (p *panel) put(kept [][]float64, i int, x []float64, s *spans) {
	if len(x) == 0 || kept == nil { // nothing leaves the whole sequence
		return
	}
	if kept[i] == nil {
		kept[i] = s.memory.take(max(int(p.keep.before[i/(len(kept)/s.sites)]), 1))
	}
	copy(kept[i][p.lo:], x)
}

// rescale moves the scale so that the greatest values of the rows lie around 1,
// and drops what is too small.
func (s *spans) rescale(p *panel, e int) {
	n := p.width
	s.at, s.coef = s.at[:0], s.coef[:0]
	for q, yes := range p.coming {
		if yes {
			s.at, s.coef = append(s.at, int32(q*n)), append(s.coef, 0)
		}
	}
	s.low = resize(s.low, n)
	simd.FoldMax(s.low, p.next, s.at, s.coef)
	hi, lo := int32(math.MinInt32), int32(math.MaxInt32)
	for _, m := range s.low {
		if m >= lowest {
			x := exponent(m)
			hi, lo = max(hi, x), min(lo, x)
		}
	}
	p.scale[e+1] = p.scale[e]
	by := 1.0
	if hi >= lo {
		shift := max((hi+lo)/2, hi-highest)
		if shift > 8 || shift < -8 {
			p.scale[e+1] += shift
			by = power(-shift)
		}
		s.wide = s.wide || hi > 900
	}
	for q, yes := range p.coming {
		if yes && simd.Chop(p.next[q*n:q*n+n], by, lowest) {
			s.dropped = true
		}
	}
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
}

// chop drops what is too small.
func (s *spans) chop(x []float64) {
	if simd.Chop(x, 1, lowest) {
		s.dropped = true
	}
}

package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

func newSpans(g *Graph, sites, tile, least int) *spans {
	s := &spans{g: g, sites: sites, tile: tile, least: least, weight: grid[float64](sites, g.weights.count()), total: make([]float64, sites+1),
		need: grid[bool](sites, len(g.starts)), levels: make([]store, len(g.levels)), panels: make([]*panel, len(g.levels))}
	for lv := range g.levels {
		l := &s.levels[lv]
		l.before = make([]int32, sites+1)
		l.leave = make([][]float64, sites*len(g.levels[lv].exits))
		l.back = make([][]float64, sites*len(g.plan.levels[lv].places))
		l.scale = make([][]int32, (sites+tile-1)/tile)
	}
	return s
}

// rows numbers the rows: all pairs of a start and a site at which it may be called.
func (s *spans) rows() {
	s.far = s.g.reach(s.need, func(site int, w int32) bool { return s.weight[site][w] != 0 })
	for lv := range s.levels {
		l := &s.levels[lv]
		l.site, l.start, l.offset = l.site[:0], l.start[:0], l.offset[:0]
		clear(l.leave)
		clear(l.back)
	}
	for c := range s.sites {
		for lv := range s.levels {
			s.levels[lv].before[c] = int32(len(s.levels[lv].site))
		}
		for _, x := range s.g.order {
			if s.need[c][x] {
				l := &s.levels[s.g.starts[x].level]
				l.site, l.start, l.offset = append(l.site, int32(c)), append(l.start, x), append(l.offset, 0)
			}
		}
	}
	for lv := range s.levels {
		l := &s.levels[lv]
		l.before[s.sites] = int32(len(l.site))
	}
}

// inside computes all sums and returns log Z on the scale of the weights. It returns ok = false if
// the range of float64 is not sufficient or the meter's context has ended.
func (s *spans) inside() (logZ float64, ok bool) {
	s.memory.empty()
	s.wide, s.over = false, math.Inf(-1)
	s.rows()
	if s.tops != nil {
		s.tops.n = 0
	}
	for t := (s.sites - 1) / s.tile; t >= 0; t-- {
		first, last := t*s.tile, min((t+1)*s.tile, s.sites)
		any := false
		for lv := range s.levels {
			any = s.open(lv, t, first, last) || any
		}
		if !any {
			continue
		}
		for e := first; e < s.sites && !s.wide; e++ {
			s.step(e)
			s.wide = s.wide || s.meter.Poll() != nil
		}
		if s.wide {
			return 0, false
		}
	}
	for lv := range s.panels {
		if s.panels[lv] != nil {
			s.panels[lv].n = 0
		}
	}
	s.openTop()
	for e := range s.sites {
		s.step(e)
		if s.wide || s.meter.Poll() != nil {
			return 0, false
		}
		p := s.tops
		for q := range p.level.states {
			s.states[e+1][q] = p.here[q*p.width]
		}
	}
	z := s.sum()
	if !(z > 0) || z > math.MaxFloat64 {
		return math.Inf(-1), z == 0 && !s.dropped && !s.faint
	}
	exponent := float64(s.tops.scale[s.sites])
	// log₂ of what is lost: its greatest part, and an allowance for their number.
	lost := math.Inf(-1)
	if s.dropped {
		lost = -600 + max(s.over, 0) + 64
	}
	if s.faint {
		lost = -300 + max(s.over, 0) + 64
	}
	if float64(simd.Log(z)*math.Log2E)+exponent-s.total[s.sites] < lost+60 {
		return 0, false
	}
	return simd.Log(z) + float64(exponent*math.Ln2), true
}

// sum returns the sum over the whole sequence, on the scale of the last position.
func (s *spans) sum() (z float64) {
	for q, final := range s.g.levels[s.g.top].final {
		if final {
			z += s.states[s.sites][q]
		}
	}
	return z
}

// relative stores the edge weights of a site, given the class sums of the site and their total. It
// divides the weights by the power of two that brings the total between 1 and 2, and returns the
// logarithm of that power.
func (s *spans) relative(site int, class []float64, total float64) (by float64) {
	n := algebra.Exponent(total)
	down := algebra.Power(-n)
	w := s.weight[site]
	for i := range w {
		x := 0.0
		for _, k := range s.g.weights.of(int32(i)) {
			x += class[k]
		}
		if x > 0 && x*down < faint {
			x, s.faint = 0, true
		}
		w[i] = x * down
	}
	s.total[site+1] = s.total[site] + float64(simd.Log(total)*math.Log2E) - float64(n)
	return float64(n) * math.Ln2
}

// open prepares the panel of a level for a tile and reports whether it has rows.
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

// each calls the given function for every panel that has rows.
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

// step processes site e: first edges, then returns round by round, then the rows and calls that
// begin.
func (s *spans) step(e int) {
	s.each(func(p *panel) { s.edges(p, e) })
	for i := range s.g.plan.rounds {
		r := &s.g.plan.rounds[i]
		if p := s.panelOf(r.level); p != nil && len(p.joins[r.group].at) > 0 {
			s.returns(p, i, e)
		}
	}
	s.each(func(p *panel) { s.close(p, e) })
	s.each(func(p *panel) { s.begin(p, e) })
	s.each(func(p *panel) { s.list(p, e, nil) })
}

func (s *spans) edges(p *panel, e int) {
	s.within(p, e)
	w, n := s.weight[e], p.cols
	for k := range p.leaves {
		x := p.leave[k*p.width:][:n]
		if p.leaves[k] {
			clear(x)
		}
		if p.leaves[k] = s.terms(p, &p.level.out, k, w); p.leaves[k] {
			simd.Fold(x, n, p.here, s.at, s.coef)
			s.raise(x)
		}
	}
	for i := range p.backs {
		if p.backs[i] {
			clear(p.back[i*p.width:][:n])
		}
		p.backs[i] = false
	}
}

// close adds the returns of the site to the states after it, stores the values that draws need,
// and rescales the panel.
func (s *spans) close(p *panel, e int) {
	n := p.cols
	rows := min(p.n, int(p.keep.before[e])-p.lo)
	for i, yes := range p.backs {
		if !yes {
			continue
		}
		x := p.back[i*p.width:][:n]
		to := p.of.places[i]
		if to.state >= 0 {
			add(p.come(to.state, n), x)
		}
		p.put(p.keep.back, e*len(p.of.places)+i, x[:rows], s)
	}
	for k, yes := range p.leaves {
		if yes {
			p.put(p.keep.leave, e*len(p.level.exits)+k, p.leave[k*p.width:][:rows], s)
		}
	}
	s.rescale(p, e)
	s.raiseCalls(p, e)
	if p.bound > math.Inf(-1) {
		s.over = max(s.over, p.bound+float64(p.scale[e])-min(s.total[e], s.total[e+1]),
			p.bound+float64(p.scale[e+1])-s.total[e+1])
	}
}

// raiseCalls raises the nonzero values of the calls of site e to the minimum.
func (s *spans) raiseCalls(p *panel, e int) {
	for _, at := range p.callAt[(e-p.first)*len(p.level.calls):] {
		if at >= 0 {
			s.raise(p.call[at : int(at)+p.cols])
		}
	}
}

// put stores the values x of the panel's rows in entry i of kept.
func (p *panel) put(kept [][]float64, i int, x []float64, s *spans) {
	if len(x) == 0 || kept == nil { // nothing leaves the whole sequence
		return
	}
	if kept[i] == nil {
		kept[i] = s.memory.take(max(int(p.keep.before[i/(len(kept)/s.sites)]), 1))
	}
	copy(kept[i][p.lo:], x)
}

// rescale changes the scale so that the greatest values of the rows lie around 1.
func (s *spans) rescale(p *panel, e int) {
	n := p.cols
	at, coef := s.at[:0], s.coef[:0]
	for q, yes := range p.coming {
		if yes {
			at, coef = append(at, int32(q*p.width)), append(coef, 0)
		}
	}
	s.at, s.coef = at, coef
	s.low = resize(s.low, n)
	simd.FoldMax(s.low, p.next, s.at, s.coef)
	hi, lo := int32(math.MinInt32), int32(math.MaxInt32)
	for _, m := range s.low {
		if m >= lowest {
			x := algebra.Exponent(m)
			hi, lo = max(hi, x), min(lo, x)
		}
	}
	p.scale[e+1] = p.scale[e]
	if hi >= lo {
		if shift := max((hi+lo)/2, hi-highest); shift > 8 || shift < -8 {
			p.scale[e+1] += shift
		}
		s.wide = s.wide || hi > 900
	}
	s.shift(p, e)
}

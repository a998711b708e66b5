package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// outside computes the adjoints of the sums in spans: the derivatives of log Z by the weights.
// Weight times adjoint is therefore the probability of an edge. The whole sequence is processed
// first, then the tiles from the first to the last. By then, all calls from earlier tiles have
// added to the adjoints of a row's exits. A panel is first replayed forward from its returns,
// which spans stores, and then read backward.
//
// # Range
//
// An adjoint has the inverse scale of its value, so that value times adjoint is a probability.
// An adjoint is zero exactly if its value is zero, so zero means impossible, as in spans. Any
// other adjoint below 2^-360 is raised to 2^-360, and the field lost holds the greatest
// probability that this created. run returns ok = false if an adjoint exceeds 2^400. Callers
// must not rely on probabilities below the bound that run returns.
type outside struct {
	joints
	weight [][]float64 // adjoint of each edge weight at each site, for nested levels
	top    *tape
	whole  *whole
	w      []int32 // scratch: indices of edge weights
}

func newOutside(s *spans) *outside {
	return &outside{joints: joints{s: s, tapes: make([]*tape, len(s.levels)), leave: make([]turned, len(s.levels))},
		whole: newWhole(s), weight: grid[float64](s.sites, len(s.g.weights))}
}

// run computes the adjoints for the last call of spans.inside. The result bound is log₂ of the
// probability above which the adjoints are accurate. The result ok is false if values or adjoints
// are out of range.
func (o *outside) run() (bound float64, ok bool) {
	s := o.s
	if s.faint {
		return 0, false
	}
	for lv := range o.leave {
		o.leave[lv].turn(&s.levels[lv], len(s.g.levels[lv].exits), s.sites)
	}
	if !o.whole.run(s, o.leave) {
		return 0, false
	}
	o.lost, o.wide = 0, false
	z := s.sum()
	bound = math.Inf(-1)
	if s.dropped {
		headroom := float64(simd.Log(z)*math.Log2E) + float64(s.tops.scale[s.sites]) - s.total[s.sites]
		bound = -600 + max(s.over, 0) + 64 - headroom + 50
	}
	dropped := s.dropped
	defer func() { s.dropped, s.faint, s.wide = dropped, false, false }()
	o.openTop(z)
	o.backward([]*tape{o.top})
	for i := range o.weight {
		clear(o.weight[i]) // whole knows better
	}
	for first := 0; first < s.sites && !o.wide; first += s.tile {
		var open []*tape
		for lv := range s.levels {
			if t := o.open(lv, first, min(first+s.tile, s.sites)); t != nil {
				open = append(open, t)
			}
		}
		o.backward(open)
	}
	if o.lost > 0 {
		bound = max(bound, float64(simd.Log(o.lost)*math.Log2E)+70)
	}
	return bound, !o.wide && !s.faint && !s.wide
}

// openTop opens the tape of the whole sequence, whose sum is z.
func (o *outside) openTop(z float64) {
	s := o.s
	if o.top == nil {
		o.top = newTape(&panel{level: s.tops.level, of: s.tops.of, keep: s.tops.keep})
	}
	t := o.top
	t.begin(0, 0, 0, 1, s.tops.scale)
	t.open()
	t.here[int(s.g.begin)*t.width] = 1
	t.live[s.g.begin] = true
	for e := 0; e < s.sites && !o.ended(); e++ {
		t.replay(s, e)
	}
	for q, final := range t.level.final {
		if x := s.states[s.sites][q]; final && x != 0 {
			t.alive[q] = true
			t.bar[q*t.width] = 1 / z
			o.wide = o.wide || 1/z > adjointHigh
		}
	}
}

// open opens and replays the tape of a level for the tile first…last−1. It returns nil if the
// level has no rows there.
func (o *outside) open(lv, first, last int) *tape {
	s := o.s
	l := &s.levels[lv]
	lo, hi := int(l.before[first]), int(l.before[last])
	if o.tapes[lv] == nil && lo < hi {
		o.tapes[lv] = newTape(&panel{level: &s.g.levels[lv], of: &s.g.plan.levels[lv], keep: l})
	}
	t := o.tapes[lv]
	if t == nil {
		return nil
	}
	t.n = 0
	if lo == hi {
		return nil
	}
	t.panel.begin(first, last, lo, hi-lo, l.scale[first/s.tile])
	t.open()
	for e := first; e < s.sites && !o.ended(); e++ {
		t.replay(s, e)
	}
	return t
}

// ended reports whether an adjoint is out of range or the meter's context has ended. In both
// cases the results must not be used.
func (o *outside) ended() bool {
	o.wide = o.wide || o.s.meter.Poll() != nil
	return o.wide
}

// backward reads the open tapes from the last site to the first.
func (o *outside) backward(open []*tape) {
	if len(open) == 0 {
		return
	}
	for e := o.s.sites - 1; e >= open[0].first && !o.ended(); e-- {
		for _, t := range open {
			o.enter(t, e)
		}
		for i := len(o.s.g.plan.rounds) - 1; i >= 0; i-- {
			r := &o.s.g.plan.rounds[i]
			for _, t := range open {
				if t.level == &o.s.g.levels[r.level] {
					o.returns(t, r, e)
				}
			}
		}
		for _, t := range open {
			o.edges(t, e)
		}
	}
}

// edges propagates the adjoints after site e to the edge weights of the site and to the states
// before it.
func (o *outside) edges(t *tape, e int) {
	n, w, out := t.width, o.s.weight[e], o.weight[e]
	for q, from := range t.kept[(e-t.first)*len(t.live):][:len(t.live)] {
		t.coming[q] = false
		if from < 0 {
			continue
		}
		o.at, o.w, o.coef = o.at[:0], o.w[:0], o.coef[:0]
		for i := t.out.at[q]; i < t.out.at[q+1]; i++ {
			if x := w[t.out.w[i]]; x != 0 && t.alive[t.out.to[i]] {
				o.at, o.w, o.coef = append(o.at, t.out.to[i]*int32(n)), append(o.w, t.out.w[i]), append(o.coef, x)
			}
		}
		if len(o.at) == 0 {
			continue
		}
		here, bar := t.values[from:int(from)+n], t.next[q*n:q*n+n]
		clear(bar)
		simd.Fold(bar, n, t.bar, o.at, o.coef)
		clear(o.coef)
		simd.Dots(o.coef, n, t.bar, o.at, here)
		for i, x := range o.coef {
			out[o.w[i]] += x
		}
		t.coming[q] = o.sift(bar, here)
	}
	copy(t.alive, t.coming)
	t.bar, t.next = t.next, t.bar
}

// enter prepares the adjoints after site e. The adjoints of states are rescaled to the scale
// before the site. The adjoints of exits are read from the results of callers in earlier tiles.
// The adjoints of calls are computed from all returns after e.
func (o *outside) enter(t *tape, e int) {
	s, n, states, calls := o.s, t.width, len(t.live), len(t.level.calls)
	shift := t.scale[e] - t.scale[e+1]
	if shift > adjointStep || shift < -adjointStep {
		o.wide = true
		return
	}
	rows := t.rows(e)
	for q, yes := range t.alive[:states] {
		if !yes {
			continue
		}
		x := t.bar[q*n : q*n+n]
		clear(x[rows:]) // called at e or after it
		if shift != 0 {
			simd.Raise(x, algebra.Power(shift), 0)
		}
	}
	for k := range t.level.exits {
		i, slot := e*len(t.level.exits)+k, states+calls+k
		t.alive[slot] = t.keep.leave != nil && t.keep.leave[i] != nil && rows > 0
		if !t.alive[slot] {
			continue
		}
		x := t.bar[slot*n : slot*n+n]
		clear(x)
		o.leave[s.g.starts[t.keep.start[t.lo]].level].read(x[:rows], t.lo, e, k)
	}
	for k := range calls {
		t.alive[states+k] = false
	}
	for i := range t.level.groups {
		o.calls(t, i, e)
	}
}

// of returns the adjoint of weight w at the given site in two parts. The first is from the nested
// levels and the second from the top level.
func (o *outside) of(site, w int) (nested float64, whole algebra.Number) {
	return o.weight[site][w], o.whole.back.weight[site][w]
}

// joints propagates adjoints from returns to their calls and to the spans that these calls
// entered.
type joints struct {
	s     *spans
	leave []turned // for each level, a copy of store.leave and its adjoint
	tapes []*tape  // tape of each level, nil if there is none

	limits

	// Scratch.
	at           []int32
	coef, x, bar []float64
	calling      []calling
	ways         []way
}

// calling appends the calls of a group at site e to list.
func (t *tape) calling(list []calling, group, e int) []calling {
	v := t.level
	listed := t.listed[(e-t.first)*len(v.calls):][:len(v.calls)]
	for _, k := range v.groups[group].calls {
		if listed[k].row >= 0 {
			list = append(list, calling{listed[k], e, int(k)})
		}
	}
	return list
}

// calls computes the adjoints of the calls of a group at site e. It also adds to the adjoints of
// the spans that these calls enter in later tiles.
func (o *joints) calls(t *tape, group, e int) {
	n, rest := t.width, &t.returned[group]
	if len(rest.at) == 0 {
		return
	}
	b := &t.behind[group]
	if e < b.low {
		o.look(t, b, group, e)
	}
	o.calling = t.calling(o.calling[:0], group, e)
	m := len(o.calling)
	if m == 0 {
		return
	}
	o.bar = resize(o.bar, m*n)
	if b.pieces > 0 {
		copy(o.bar, b.bar[b.from[b.high-e]*n:][:m*n])
	}
	o.between(t, group, o.calling, b.pieces, len(rest.at), o.bar)
	for a, l := range o.calling {
		slot, bar := len(t.live)+l.call, o.bar[a*n:a*n+n]
		clear(bar[t.rows(e):])
		t.alive[slot] = o.sift(bar, o.x[a*n:a*n+n])
		copy(t.bar[slot*n:], bar)
		if l.by != 0 {
			simd.Raise(t.bar[slot*n:slot*n+n], algebra.Power(l.by), 0)
		}
	}
}

// look moves the window b to end at site e. If there are enough returns after e, the window
// also includes some sites before e.
func (o *joints) look(t *tape, b *behind, group, e int) {
	b.low, b.high, b.pieces = e, e, 0
	if len(t.returned[group].at) < o.s.least {
		return
	}
	b.low = max(e-aheadEnds+1, t.first)
	if e >= t.last {
		b.low = max(b.low, t.last) // what they enter is noted
	}
	b.pieces = len(t.returned[group].at)
	o.calling = o.calling[:0]
	for i := range b.high - b.low + 1 {
		b.from[i] = len(o.calling)
		o.calling = t.calling(o.calling, group, e-i)
	}
	b.bar = resize(b.bar, len(o.calling)*t.width)
	if len(o.calling) > 0 {
		o.between(t, group, o.calling, 0, b.pieces, b.bar)
	}
}

// between adds to bar the contributions to the adjoints of the given calls. It reads the returns of
// the group with indices begin ≤ n < end. It also adds to the adjoints of the spans that the calls
// enter in later tiles. It leaves the values of the calls in o.x.
func (o *joints) between(t *tape, group int, calls []calling, begin, end int, bar []float64) {
	n, terms, rest := t.width, end-begin, &t.returned[group]
	callee := t.level.groups[group].callee
	to, leave := &o.s.levels[callee], &o.leave[callee]
	o.coef, o.x = resize(o.coef, len(calls)*terms), resize(o.x, len(calls)*n)
	tile := -1
	turn := func(row int32) {
		if x := int(to.site[row]) / o.s.tile; x != tile {
			tile = x
			o.lists(t, rest.list[begin:end], leave.exits, to.scale[tile])
		}
	}
	for a, l := range calls {
		copy(o.x[a*n:a*n+n], t.called(l.site, l.call))
		turn(l.row)
		c, at := o.coef[a*terms:][:terms], leave.at[l.row]
		for _, w := range o.ways {
			c[w.piece] += float64(leave.value[at+w.at] * algebra.Power(l.exponent+w.exponent))
		}
	}
	at := rest.at[begin:end]
	simd.Fold(bar, n, t.pieces, at, o.coef)
	if calls[0].site < t.last {
		return // returns tells those rows
	}
	clear(o.coef)
	simd.Dots(o.coef, n, t.pieces, at, o.x)
	for a, l := range calls {
		turn(l.row)
		c, at := o.coef[a*terms:][:terms], leave.at[l.row]
		for _, w := range o.ways {
			i := at + w.at
			leave.bar[i] += o.share(leave.value[i], c[w.piece], algebra.Power(l.exponent+w.exponent))
		}
	}
}

// lists stores in o.ways all exits of the given returns, for rows with the given scale.
func (o *joints) lists(t *tape, list []piece, exits int, scale []int32) {
	o.ways = o.ways[:0]
	for i := range list {
		r := &list[i]
		by := scale[r.site] - t.scale[r.site]
		for _, κ := range r.exits {
			o.ways = append(o.ways, way{int(r.site)*exits + int(κ), int32(i), by})
		}
	}
}

// returns records the adjoints of the returns of a round at site e. For rows of the same tile that
// were left, it also adds them to the adjoints of these rows.
func (o *joints) returns(t *tape, r *round, e int) {
	v, n := t.level, t.width
	group := int(r.group)
	before := int(t.count[(e-t.first)*len(v.groups)+group])
	if before == 0 {
		return
	}
	rest := &t.returned[group]
	first := len(rest.at)
	for _, node := range r.nodes {
		slot := t.slotOf(int(node.place))
		if slot < 0 || !t.alive[slot] || t.keep.back[e*len(t.of.places)+int(node.place)] == nil {
			continue
		}
		rest.at = append(rest.at, int32(len(t.pieces)))
		rest.list = append(rest.list, piece{int32(e), node.exits})
		t.pieces = append(t.pieces, t.bar[slot*n:slot*n+n]...)
	}
	m := len(rest.at) - first
	if e >= t.last {
		before = t.joins[group].inTile
	}
	if m == 0 || before == 0 {
		return
	}
	callee := v.groups[group].callee
	u := o.tapes[callee]
	exits := len(u.level.exits)
	j := &t.joins[group]
	o.coef = resize(o.coef, m*before)
	simd.Dots(o.coef, n, t.call, j.at[:before], t.pieces[rest.at[first]:])
	for i := range m {
		for _, κ := range rest.list[first+i].exits {
			left := u.keep.leave[e*exits+int(κ)]
			if left == nil {
				continue
			}
			bar := u.slot(len(u.live) + len(u.level.calls) + int(κ))
			for a, y := range o.coef[i*before:][:before] {
				row := int(j.row[a])
				bar[row-u.lo] += o.share(left[row], y, algebra.Power(t.exponents[group][a]+u.scale[e]-t.scale[e]))
			}
		}
	}
}

// listing is the row that a call enters, with the exponent of its returns. The field by is the
// change of exponent that was applied to the vector of the call.
type listing struct{ row, exponent, by int32 }

// calling is a call at some site of a tape.
type calling struct {
	listing
	site, call int
}

// behind holds adjoints of the calls of a group at several consecutive sites. It includes only the
// contributions of returns that were known at the last of these sites. One pass over the returns
// serves all the calls.
type behind struct {
	low, high int // first and last of the sites
	pieces    int
	from      [aheadEnds + 1]int // from[i] is the index of the first call of site high − i
	bar       []float64          // adjoints by call and row
}

// way is a return by one exit: its index in turned relative to the entry of the row, the number
// of the return, and the exponent of the row relative to the caller.
type way struct {
	at              int
	piece, exponent int32
}

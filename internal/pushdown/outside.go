package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// outside computes the adjoints of the sums of spans: the derivatives of log Z, so that
// weight times adjoint is the probability of an edge. Panels run as in spans, the whole
// sequence first, then tiles from the first to the last: whoever calls a row from an
// earlier tile has passed it what its exits are worth. A panel is replayed from what
// returned to it, which spans keep, and then read backward.
//
// # Range
//
// An adjoint has the inverse scale of its value, so that value times adjoint is a
// probability. An adjoint is zero where its value is; what is smaller than 2^-360
// otherwise is raised to it, and lost is the greatest probability that this made:
// as in spans, zero means impossible. Smaller probabilities than bound allows, and
// adjoints above 2^400, are refused (ok = false).
type outside struct {
	joints
	weight [][]float64 // [site][weight of an edge]: adjoint by all that is nested
	top    *tape
	whole  *whole
	w      []int32 // scratch
}

func newOutside(s *spans) *outside {
	return &outside{joints: joints{s: s, tapes: make([]*tape, len(s.levels)), leave: make([]turned, len(s.levels))},
		whole: newWhole(s), weight: grid[float64](s.sites, len(s.g.weights))}
}

// run computes the adjoints of the last inside. bound is log₂ of the
// probability above which they are right.
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

// openTop makes the tape of the whole sequence, whose sum is z.
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

// open makes the tape of a level for a tile, nil if it has no rows there.
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

// ended polls the meter, and treats its end like wide: the result is not used
// any more.
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

// edges takes the adjoints of what follows site e to its weights and to the
// states before it.
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

// enter prepares the adjoints of what site e leads to: its states on the scale
// before them, the exits as callers of earlier tiles have left them, and the
// calls from all returns after e.
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

// of returns the adjoint of a weight: by all that is nested, and by the whole
// sequence.
func (o *outside) of(site, w int) (nested float64, whole algebra.Number) {
	return o.weight[site][w], o.whole.back.weight[site][w]
}

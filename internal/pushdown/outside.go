package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// outside computes the adjoints of the sums of spans: the derivatives of
// log Z, so that weight times adjoint is the probability of an edge. Panels run
// as in spans, the whole sequence first, then tiles from the first to the last:
// whoever calls a row from an earlier tile has told it what its exits are worth.
// A panel is replayed from what returned to it, which spans keep, and then read
// backward.
//
// # Range
//
// An adjoint has the inverse scale of its value, so that value times adjoint is a
// probability. An adjoint is zero where its value is; what is smaller than 2^-360
// otherwise is raised to it, and lost is the greatest probability that this made:
// as in spans, zero means impossible. Smaller probabilities than bound allows, and
// adjoints above 2^400, are refused (ok = false).
type outside struct {
	s      *spans
	weight [][]float64   // [site][weight of an edge]: adjoint by all that is nested
	leave  [][][]float64 // [level][site·exits + κ][row]: adjoint of store.leave
	tapes  []*tape       // by level
	top    *tape
	whole  *whole
	memory arena

	lost float64
	wide bool

	// Scratch.
	at      []int32
	w       []int32
	coef, x []float64
}

const (
	adjointLow  = 0x1p-360
	adjointHigh = 0x1p400
	adjointStep = 64 // log₂ of what a scale may change by at a site
)

func newOutside(s *spans) *outside {
	o := &outside{s: s, whole: newWhole(s), weight: grid[float64](s.sites, len(s.g.weights)), tapes: make([]*tape, len(s.levels)),
		leave: make([][][]float64, len(s.levels))}
	for lv := range s.levels {
		o.leave[lv] = make([][]float64, len(s.levels[lv].leave))
	}
	return o
}

// run computes the adjoints of the last inside. bound is log₂ of the
// probability above which they are right.
func (o *outside) run() (bound float64, ok bool) {
	s := o.s
	if s.faint || !o.whole.run(s) {
		return 0, false
	}
	o.lost, o.wide = 0, false
	o.memory.empty()
	for lv := range o.leave {
		clear(o.leave[lv])
	}
	z := 0.0
	for q, final := range s.g.levels[s.g.top].final {
		if final {
			z += s.states[s.sites][q]
		}
	}
	bound = math.Inf(-1)
	if s.dropped {
		room := float64(simd.Log(z)*math.Log2E) + float64(s.tops.scale[s.sites]) - s.total[s.sites]
		bound = -600 + max(s.over, 0) + 64 - room + 50
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
	for e := range s.sites {
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
	for e := first; e < s.sites; e++ {
		t.replay(s, e)
	}
	return t
}

// backward reads the open tapes from the last site to the first.
func (o *outside) backward(open []*tape) {
	if len(open) == 0 {
		return
	}
	for e := o.s.sites - 1; e >= open[0].first && !o.wide; e-- {
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

// sift bounds the adjoints of the values f and reports whether any is left.
func (o *outside) sift(bar, f []float64) (any bool) {
	f = f[:len(bar)]
	for i, b := range bar {
		switch {
		case f[i] == 0:
			bar[i] = 0
		case b >= adjointLow:
			any = true
			o.wide = o.wide || b > adjointHigh
		case b > 0:
			any = true
			bar[i] = adjointLow
			o.lost = max(o.lost, f[i]*adjointLow)
		case b != b:
			o.wide = true
		}
	}
	return any
}

// share is a part of the adjoint of a value f.
func (o *outside) share(f, y, by float64) float64 {
	if f == 0 || y == 0 {
		return 0
	}
	b := y * by
	if b < adjointLow {
		o.lost = max(o.lost, f*adjointLow)
		return adjointLow
	}
	o.wide = o.wide || !(b <= adjointHigh)
	return b
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

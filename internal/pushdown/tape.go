package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// tape is a panel that stores its values at all sites. At the site being read backward, it
// holds the adjoints of states, calls and exits; these are its slots, in this order.
type tape struct {
	*panel
	out outward

	values []float64
	kept   []int32   // index in values by site − first and state, −1 if the state is not live
	listed []listing // listing by site − first and call
	count  []int32   // number of calls in the join of each group before each site

	exponents [][]int32 // exponents of the calls in the joins, by group and call

	bar, next []float64 // adjoint vectors by slot
	alive     []bool
	returned  []returned // returns of each group
	behind    []behind   // window of call adjoints of each group
	pieces    []float64
}

// returned holds the adjoints of the returns of a group: their indices in pieces, their sites
// and their exits.
type returned struct {
	at   []int32
	list []piece
}

type piece struct {
	site  int32
	exits []int32
}

// outward holds the edges of a level by source state. The targets are slots.
type outward struct{ at, to, w []int32 }

func newTape(p *panel) *tape {
	t := &tape{panel: p, returned: make([]returned, len(p.level.groups)),
		behind: make([]behind, len(p.level.groups)), exponents: make([][]int32, len(p.level.groups))}
	v := p.level
	fans := []struct {
		*algebra.Fan
		slot int32 // of its first target
	}{{&v.in, 0}, {&v.call, int32(len(v.states))}, {&v.out, int32(len(v.states) + len(v.calls))}}
	t.out.at = make([]int32, len(v.states)+1)
	for _, f := range fans {
		for _, e := range f.All {
			t.out.at[e.From+1]++
		}
	}
	next := upTo(t.out.at, nil)
	t.out.to, t.out.w = make([]int32, v.edges()), make([]int32, v.edges())
	for _, f := range fans {
		for to := range len(f.At) - 1 {
			for _, e := range f.To(to) {
				t.out.to[next[e.From]], t.out.w[next[e.From]] = f.slot+int32(to), e.W
				next[e.From]++
			}
		}
	}
	return t
}

// open clears a tape whose panel has just begun.
func (t *tape) open() {
	v := t.level
	slots := len(v.states) + len(v.calls) + len(v.exits)
	t.values, t.kept, t.listed, t.count, t.pieces = t.values[:0], t.kept[:0], t.listed[:0], t.count[:0], t.pieces[:0]
	t.bar, t.next, t.alive = resize(t.bar, slots*t.width), resize(t.next, slots*t.width), resize(t.alive, slots)
	for i := range t.returned {
		t.returned[i].at, t.returned[i].list = t.returned[i].at[:0], t.returned[i].list[:0]
		t.exponents[i], t.behind[i].low = t.exponents[i][:0], math.MaxInt
	}
}

// rows returns the number of rows that were called before site e.
func (t *tape) rows(e int) int { return min(t.n, int(t.keep.before[e])-t.lo) }

func (t *tape) called(e, k int) []float64 {
	return t.call[t.callAt[(e-t.first)*len(t.level.calls)+k]:][:t.width]
}

// slotOf returns the slot of a place.
func (t *tape) slotOf(place int) int {
	to := t.of.places[place]
	if to.state >= 0 {
		return int(to.state)
	}
	h := t.level.halves[to.half]
	if h.call >= 0 {
		return len(t.live) + int(h.call)
	}
	return len(t.live) + len(t.level.calls) + int(h.exit)
}

// slot returns the adjoints of a slot.
func (t *tape) slot(i int) []float64 { return t.bar[i*t.width:][:t.width] }

// limits keeps adjoints in range. The field lost is the greatest probability that raising an
// adjoint created. The field wide is true if an adjoint was too great.
type limits struct {
	lost float64
	wide bool
}

const (
	adjointLow  = 0x1p-360
	adjointHigh = 0x1p400
	adjointStep = 64 // log₂ of the largest change of a scale at one site
)

// sift bounds the adjoints bar of the values f. It reports whether any adjoint is nonzero.
func (o *limits) sift(bar, f []float64) (any bool) {
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

// share returns the product y·by as an adjoint of the value f, raised to the minimum if
// necessary.
func (o *limits) share(f, y, by float64) float64 {
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

// replay processes site e forward as spans did, using the stored returns.
func (t *tape) replay(s *spans, e int) {
	p, n := t.panel, t.width
	for q, yes := range p.live {
		at := int32(-1)
		if yes {
			at = int32(len(t.values))
			t.values = append(t.values, p.here[q*n:q*n+n]...)
		}
		t.kept = append(t.kept, at)
	}
	s.within(p, e)
	for i, to := range p.of.places {
		x := p.keep.back[e*len(p.of.places)+i]
		if x == nil {
			continue
		}
		x = x[p.lo : p.lo+t.rows(e)]
		if to.state >= 0 {
			add(p.come(to.state, n), x)
		} else if k := p.level.halves[to.half].call; k >= 0 {
			add(p.callOf(e, int(k)), x)
		}
	}
	s.shift(p, e)
	s.raiseCalls(p, e)
	s.begin(p, e)
	t.list(s, e)
}

// list calls spans.list for the panel and records the calls that it adds.
func (t *tape) list(s *spans, e int) {
	at := len(t.listed)
	for range t.level.calls {
		t.listed = append(t.listed, listing{row: -1})
	}
	for i := range t.joins {
		t.count = append(t.count, int32(len(t.joins[i].at)))
	}
	s.list(t.panel, e, func(group int, call int32, l listing) {
		t.listed[at+int(call)] = l
		t.exponents[group] = append(t.exponents[group], l.exponent)
	})
}

// turned holds the sums that leave a level and their adjoints, with all ends of a row next to
// each other. Reading a caller backward needs one row at many ends, whereas store.leave holds
// many rows at one end.
type turned struct {
	exits int
	// for each row, an offset: the value for exit k at end e has the index offset + e·exits + k
	at    []int
	value []float64
	bar   []float64
}

// turn copies the sums that leave the rows of a level and clears their adjoints.
func (u *turned) turn(l *store, exits, sites int) {
	u.exits, u.at = exits, resize(u.at, len(l.site))
	n := 0
	for r, c := range l.site {
		u.at[r] = n - (int(c)+1)*exits
		n += (sites - int(c) - 1) * exits
	}
	u.value, u.bar = resize(u.value, n), resize(u.bar, n)
	const rows = 64 // that are written at once
	for lo := 0; lo < len(u.at); lo += rows {
		for i := (int(l.site[lo]) + 1) * exits; i < sites*exits; i++ {
			left := l.leave[i]
			if left == nil {
				continue
			}
			hi := min(lo+rows, int(l.before[i/exits]))
			at := u.at[lo:hi]
			for a, x := range left[lo:hi] {
				u.value[at[a]+i] = x
			}
		}
	}
}

// read stores in dst the adjoints of rows lo…lo+len(dst)−1 for exit k at site e.
func (u *turned) read(dst []float64, lo, e, k int) {
	i := e*u.exits + k
	for a, at := range u.at[lo : lo+len(dst)] {
		dst[a] = u.bar[at+i]
	}
}

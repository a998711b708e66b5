package pushdown

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// walk goes back through charts and finds one sequence.
type walk[T any, R algebra.Ring[T]] struct {
	todo  []task
	terms []T
	steps []step
}

// trace chooses one sequence, site by site backward through nested spans, and
// tells emit the edge whose weight was charged at every site.
func (d *walk[T, R]) trace(f *filter[T, R], src *rand.Rand, emit func(site int, w int32)) {
	// What was summed is walked to its end, which costs less than the sums.
	meter := f.meter
	f.meter = nil
	defer func() { f.meter = meter }()
	d.todo = append(d.todo[:0], task{span{-1, -1}, -1, -1})
	for len(d.todo) > 0 {
		t := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		ch := f.top
		if t.s >= 0 {
			ch = f.chartOf(f.g.starts[t.s].level, t.c, t.e+1)
			f.forward(ch, t.span, t.e+1, nil)
		}
		d.back(f, ch, t, src, emit)
	}
}

func (d *walk[T, R]) put(f *filter[T, R], x T, s step) {
	if !f.ring.IsZero(x) {
		d.terms, d.steps = append(d.terms, x), append(d.steps, s)
	}
}

func (d *walk[T, R]) pick(f *filter[T, R], src *rand.Rand) step {
	s := d.steps[f.ring.Choose(d.terms, src)]
	d.terms, d.steps = d.terms[:0], d.steps[:0]
	return s
}

// back walks from the end of a task to its start.
func (d *walk[T, R]) back(f *filter[T, R], ch *chart[T], t task, src *rand.Rand, emit func(site int, w int32)) {
	v, r := ch.level, f.ring
	var j int       // the boundary, or the site of a half-position
	var state int32 // ≥ 0 at a boundary
	at := int32(-1) // the half-position
	if t.s < 0 {
		for q, final := range v.final {
			if final {
				d.put(f, ch.states[f.sites][q], step{from: int32(q)})
			}
		}
		j, state = f.sites, d.pick(f, src).from
	} else {
		j = t.e
		for _, e := range v.out {
			if int(e.To) == t.exit {
				d.put(f, r.Mul(ch.states[j][e.From], f.weight[j][e.W]), step{kind: byEdge, from: e.From, w: e.W})
			}
		}
		for h, x := range v.halves {
			if int(x.exit) == t.exit {
				d.put(f, ch.halves[j][h], step{kind: byHalf, from: int32(h)})
			}
		}
		s := d.pick(f, src)
		if s.kind == byEdge {
			emit(j, s.w)
			state = s.from
		} else {
			state, at = -1, s.from
		}
	}
	for {
		if at < 0 {
			if t.s < 0 && j == 0 {
				return
			}
			if t.s >= 0 && j == t.c+1 && f.g.starts[t.s].q >= 0 {
				return
			}
			j-- // the site before the boundary
			for _, e := range v.in {
				if e.To == state && j > t.c {
					d.put(f, r.Mul(ch.states[j][e.From], f.weight[j][e.W]), step{kind: byEdge, from: e.From, w: e.W})
				}
			}
		}
		for i := range v.groups {
			for k, to := range v.groups[i].resume {
				if at < 0 && to.state == state || at >= 0 && to.half == at {
					d.put(f, ch.returns[i][k][j], step{kind: byReturn, group: int32(i), k: int32(k)})
				}
			}
		}
		s := d.pick(f, src)
		if s.kind == byEdge {
			emit(j, s.w)
			state = s.from
			continue
		}
		// A callee returned at site j: which call, and where?
		group := &v.groups[s.group]
		for c := max(t.c, 0); c < j; c++ {
			for _, k := range group.calls {
				if y := ch.calls[c][k]; !r.IsZero(y) {
					d.put(f, r.Mul(y, f.whole[c][v.calls[k].start][s.k][j-c-1]), step{from: k, site: c})
				}
			}
		}
		p := d.pick(f, src)
		d.todo = append(d.todo, task{span{p.site, int(v.calls[p.from].start)}, j, int(s.k)})
		j = p.site
		// How did the call come about?
		if t.s >= 0 && j == t.c {
			return // the start at a half-position
		}
		for _, e := range v.call {
			if e.To == p.from {
				d.put(f, r.Mul(ch.states[j][e.From], f.weight[j][e.W]), step{kind: byEdge, from: e.From, w: e.W})
			}
		}
		for h, x := range v.halves {
			if x.call == p.from {
				d.put(f, ch.halves[j][h], step{kind: byHalf, from: int32(h)})
			}
		}
		s = d.pick(f, src)
		at = -1
		if s.kind == byEdge {
			emit(j, s.w)
			state = s.from
		} else {
			at = s.from
		}
	}
}

// task is a span that leaves by exit κ at site e.
type task struct {
	span
	e, exit int
}

// step is one way in which a value came about.
type step struct {
	kind     stepKind
	from     int32 // state or half
	w        int32 // edge: its weight
	group, k int32 // of a return: group and exit of the callee
	site     int   // of a call
	row      int32 // of the callee
}

type stepKind uint8

const (
	byEdge stepKind = iota
	byReturn
	byHalf
)

// span is a call: start s at site c. The whole sequence has s = −1, c = −1.
type span struct{ c, s int }

package pushdown

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// walker walks backward through spans and their charts. A nested span is walked after the span
// that contains it. Its methods collect the possible ways in which a value arose, and pick
// chooses one of them.
type walker interface {
	// next starts the next span and collects the ways in which the span ends. The result j is the
	// boundary at which the span ends, or the site of a half-position. The result c is the site of
	// the call, −1 for the whole sequence. The result sub reports whether the span begins at a
	// half-position.
	next() (c int, sub bool, j int, ok bool)

	before(state int32, j int)    // collects the ways over site j to a state
	calls(call int32, j int)      // collects the ways to a call at site j
	pick() step                   // chooses one of the collected ways
	turned(half step, j int) step // chooses the return that led to a half-position of site j
	// chooses the call that returned at site j, whose span is walked later
	called(returned step, j int) step
}

// follow walks all spans. For every site, it calls emit with the edge at which the weight of
// the site's token was charged.
func follow(w walker, emit func(site int, w int32)) {
	for c, sub, j, ok := w.next(); ok; c, sub, j, ok = w.next() {
		for s := w.pick(); ; {
			if s.kind == byEdge {
				emit(j, s.w)
			}
			if s.kind == byHalf {
				s = w.turned(s, j)
			} else if j == c+1 && !sub {
				break
			} else {
				j--
				w.before(s.from, j)
				if s = w.pick(); s.kind == byEdge {
					continue
				}
			}
			s = w.called(s, j)
			if j = s.site; j == c {
				break // the start at a half-position
			}
			w.calls(s.from, j)
			s = w.pick()
		}
	}
}

// step is one way in which a value arose.
type step struct {
	kind     stepKind
	from     int32 // state or half-position from which the step leads
	w        int32 // weight of an edge
	group, k int32 // for a return, the group and the exit of the callee
	site     int   // site of a call
	row      int32 // row of the callee
}

type stepKind uint8

const (
	byEnd stepKind = iota // the step is the end of the whole sequence
	byEdge
	byReturn
	byHalf
)

// walk implements walker on charts.
type walk[T any, R algebra.Ring[T]] struct {
	f      *filter[T, R]
	random *rand.Rand
	todo   []task
	terms  []T
	steps  []step

	task // the span being walked
	ch   *chart[T]
}

// task is a span that leaves by an exit at site e.
type task struct {
	span
	e, exit int
}

// span is a call: start s at site c. The whole sequence has s = −1 and c = −1.
type span struct{ c, s int }

// trace chooses one sequence and calls emit with the edge of every site.
func (d *walk[T, R]) trace(f *filter[T, R], src *rand.Rand, emit func(site int, w int32)) {
	// What was summed is walked to its end, which costs less than the sums.
	meter := f.meter
	f.meter = nil
	defer func() { f.meter = meter }()
	d.f, d.random = f, src
	d.todo = append(d.todo[:0], task{span{-1, -1}, f.sites, -1})
	follow(d, emit)
}

func (d *walk[T, R]) put(x T, s step) {
	if !d.f.ring.IsZero(x) {
		d.terms, d.steps = append(d.terms, x), append(d.steps, s)
	}
}

func (d *walk[T, R]) pick() step {
	s := d.steps[d.f.ring.Choose(d.terms, d.random)]
	d.terms, d.steps = d.terms[:0], d.steps[:0]
	return s
}

func (d *walk[T, R]) next() (c int, sub bool, j int, ok bool) {
	f, last := d.f, len(d.todo)-1
	if last < 0 {
		return 0, false, 0, false
	}
	d.task, d.todo, d.ch = d.todo[last], d.todo[:last], f.top
	if d.s < 0 {
		for q, final := range d.ch.level.final {
			if final {
				d.put(d.ch.states[d.e][q], step{from: int32(q)})
			}
		}
		return d.c, false, d.e, true
	}
	d.ch = f.chartOf(f.g.starts[d.s].level, d.c, d.e+1)
	f.forward(d.ch, d.span, d.e+1, nil)
	d.arrive(&d.ch.level.out, int32(d.exit), d.e)
	d.halves(no, int32(d.exit), d.e)
	return d.c, f.g.starts[d.s].q < 0, d.e, true
}

// arrive adds to the candidate steps the edges that lead to the given target at site j.
func (d *walk[T, R]) arrive(f *algebra.Fan, target int32, j int) {
	if j <= d.c {
		return // the call itself is the first thing
	}
	here, w := d.ch.states[j], d.f.weight[j]
	for _, e := range f.To(int(target)) {
		d.put(d.f.ring.Mul(here[e.From], w[e.W]), step{kind: byEdge, from: e.From, w: e.W})
	}
}

// no is a value that matches no state, half-position, call or exit. A missing state, half-position,
// call or exit is marked by −1 instead.
const no = -2

// halves adds to the candidate steps the half-positions of site j that lead to the given call or
// exit.
func (d *walk[T, R]) halves(call, exit int32, j int) {
	here := d.ch.halves[j]
	for h, x := range d.ch.level.halves {
		if x.call == call || x.exit == exit {
			d.put(here[h], step{kind: byHalf, from: int32(h)})
		}
	}
}

// returns adds to the candidate steps the returns at site j that lead to the given state or
// half-position.
func (d *walk[T, R]) returns(state, half int32, j int) {
	groups, returns := d.ch.level.groups, d.ch.returns
	for i := range groups {
		for k, to := range groups[i].resume {
			if to.state == state || to.half == half {
				d.put(returns[i][k][j], step{kind: byReturn, group: int32(i), k: int32(k)})
			}
		}
	}
}

func (d *walk[T, R]) before(state int32, j int) {
	d.arrive(&d.ch.level.in, state, j)
	d.returns(state, no, j)
}

func (d *walk[T, R]) turned(half step, j int) step {
	d.returns(no, half.from, j)
	return d.pick()
}

func (d *walk[T, R]) called(s step, j int) step {
	v, r, calls, whole := d.ch.level, d.f.ring, d.ch.calls, d.f.whole
	group := v.groups[s.group].calls
	for c := max(d.c, 0); c < j; c++ {
		for _, k := range group {
			if y := calls[c][k]; !r.IsZero(y) {
				d.put(r.Mul(y, whole[c][v.calls[k].start][s.k][j-c-1]), step{from: k, site: c})
			}
		}
	}
	p := d.pick()
	d.todo = append(d.todo, task{span{p.site, int(v.calls[p.from].start)}, j, int(s.k)})
	return p
}

func (d *walk[T, R]) calls(call int32, j int) {
	d.arrive(&d.ch.level.call, call, j)
	d.halves(call, no, j)
}

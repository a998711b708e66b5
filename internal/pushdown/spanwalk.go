package pushdown

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// spanWalk implements walker on the sums of spans.
type spanWalk struct {
	s      *spans
	random *rand.Rand
	todo   []spanTask
	terms  []float64
	steps  []step

	view // the span being walked

	// stateOf holds the states of one row's chart, by position after the row's call. The field
	// callOf holds the calls of the chart, by site, starting with the site of the row's call.
	stateOf, callOf []float64
}

// spanTask is a row that leaves by an exit at site e. Row −1 is the whole sequence.
type spanTask struct{ level, row, e, exit int }

func (d *spanWalk) put(x float64, s step) {
	if x > 0 {
		d.terms, d.steps = append(d.terms, x), append(d.steps, s)
	}
}

// pick draws one of the collected terms with probability proportional to its value. It then clears
// the list of terms.
func (d *spanWalk) pick() step {
	total := 0.0
	for _, x := range d.terms {
		total += x
	}
	s := d.steps[d.among(d.terms, total)]
	d.terms, d.steps = d.terms[:0], d.steps[:0]
	return s
}

// among draws the index of one of the terms x ≥ 0 with probability proportional to its value. The
// argument total is the sum of the terms, added from the first to the last.
func (d *spanWalk) among(x []float64, total float64) int {
	u, i := float64(d.random.Float64()*total), 0
	for ; i < len(x)-1 && u >= x[i]; i++ {
		u -= x[i]
	}
	for ; i > 0 && x[i] == 0; i-- { // rounding led past the last that is not zero
	}
	return i
}

// draw draws a sequence and calls emit with the edge drawn at every site.
func (d *spanWalk) draw(random *rand.Rand, emit func(site int, w int32)) {
	d.random = random
	d.todo = append(d.todo[:0], spanTask{int(d.s.g.top), -1, -1, -1})
	follow(d, emit)
}

func (d *spanWalk) next() (c int, sub bool, j int, ok bool) {
	last := len(d.todo) - 1
	if last < 0 {
		return 0, false, 0, false
	}
	t := d.todo[last]
	d.todo = d.todo[:last]
	d.look(t)
	if t.row < 0 {
		for q, final := range d.v.final {
			if final {
				d.put(d.s.states[d.e][q], step{from: int32(q)})
			}
		}
		return -1, false, d.e, true
	}
	d.arrive(&d.v.out, d.exit, d.e)
	d.halves(no, int32(d.exit), d.e)
	return d.c, d.half, d.e, true
}

func (d *spanWalk) before(state int32, j int) {
	d.arrive(&d.v.in, int(state), j)
	for i, to := range d.of.places {
		if to.state == state {
			d.put(d.returned(j, i), step{kind: byReturn, from: int32(i)})
		}
	}
}

// turned returns half unchanged, because in spans a half-position is already a place of a
// return.
func (d *spanWalk) turned(half step, _ int) step { return half }

func (d *spanWalk) called(s step, j int) step {
	d.callers(j, s.from)
	p := d.pick()
	d.todo = append(d.todo, spanTask{int(d.v.groups[p.group].callee), int(p.row), j, int(p.k)})
	return p
}

func (d *spanWalk) calls(call int32, j int) {
	d.arrive(&d.v.call, int(call), j)
	d.halves(call, no, j)
}

// halves adds to the candidate steps the half-positions of site j that lead to the given call or
// exit.
func (d *spanWalk) halves(call, exit int32, j int) {
	for i, to := range d.of.places {
		if to.half < 0 {
			continue
		}
		if x := d.v.halves[to.half]; x.call == call || x.exit == exit {
			d.put(d.returned(j, i), step{kind: byHalf, from: int32(i)})
		}
	}
}

// view is the row being walked, with its chart.
type view struct {
	spanTask
	weight [][]float64
	v      *level
	of     *arrangement
	keep   *store
	scale  []int32
	c      int // site of the call, −1 for the whole sequence
	half   bool
	at     int // index of the row in store
	state  []float64
	call   []float64
}

// look computes the chart of the row of task t.
func (d *spanWalk) look(t spanTask) {
	s := d.s
	d.view = view{spanTask: t, weight: s.weight, v: &s.g.levels[t.level], of: &s.g.plan.levels[t.level]}
	w := &d.view
	if t.row < 0 {
		w.keep, w.scale, w.c, w.e = s.tops.keep, s.tops.scale, -1, s.sites
	} else {
		w.keep, w.at = &s.levels[t.level], t.row
		w.c = int(w.keep.site[t.row])
		w.scale = w.keep.scale[w.c/s.tile]
		w.half = s.g.starts[w.keep.start[t.row]].q < 0
	}
	d.stateOf = resize(d.stateOf, (w.e-w.c)*len(w.v.states))
	d.callOf = resize(d.callOf, (w.e-w.c)*len(w.v.calls))
	w.state, w.call = d.stateOf, d.callOf
	switch {
	case t.row < 0:
		w.state[s.g.begin] = 1
	case w.half:
		w.call[s.g.halfCall(w.v, int(w.keep.start[t.row]))] = 1
	default:
		w.state[s.g.local[s.g.starts[w.keep.start[t.row]].q]] = 1
	}
	for j := w.c + 1; j < w.e; j++ {
		w.forward(j)
	}
}

// states returns the values of the states at position j.
func (w *view) states(j int) []float64 {
	n := len(w.v.states)
	return w.state[(j-w.c-1)*n:][:n]
}

// callsAt returns the values of the calls at site j.
func (w *view) callsAt(j int) []float64 {
	n := len(w.v.calls)
	return w.call[(j-w.c)*n:][:n]
}

// returned is the sum of the returns to a place at site j.
func (w *view) returned(j, place int) float64 {
	if x := w.keep.back[j*len(w.of.places)+place]; x != nil {
		return x[w.at]
	}
	return 0
}

// forward computes the calls of site j and the states after it.
func (w *view) forward(j int) {
	x := w.weight[j]
	here, calls := w.states(j), w.callsAt(j)
	along(calls, here, &w.v.call, x)
	next := w.states(j + 1)
	along(next, here, &w.v.in, x)
	for i, to := range w.of.places {
		y := w.returned(j, i)
		if y == 0 {
			continue
		}
		if to.state >= 0 {
			next[to.state] += y
		} else if k := w.v.halves[to.half].call; k >= 0 {
			calls[k] += y
		}
	}
	if by := algebra.Power(w.scale[j] - w.scale[j+1]); by != 1 {
		for q := range next {
			next[q] *= by
		}
	}
}

func along(dst, src []float64, f *algebra.Fan, w []float64) {
	for t := range dst {
		a := dst[t]
		for _, e := range f.To(t) {
			if y := src[e.From]; y != 0 {
				a += float64(y * w[e.W])
			}
		}
		dst[t] = a
	}
}

// arrive adds to the candidate steps the edges that lead to the given target at site j.
func (d *spanWalk) arrive(f *algebra.Fan, target, j int) {
	if j <= d.c {
		return // the call itself is the first thing
	}
	here, x := d.states(j), d.weight[j]
	for _, e := range f.To(target) {
		d.put(float64(here[e.From]*x[e.W]), step{kind: byEdge, from: e.From, w: e.W})
	}
}

// callers adds to the candidate steps the calls that may have returned to a place at site e.
func (d *spanWalk) callers(e int, place int32) {
	w := &d.view
	for g, nodes := range w.of.nodes {
		callee := w.v.groups[g].callee
		to, exits := &d.s.levels[callee], len(d.s.g.levels[callee].exits)
		callOf := w.of.callOf[g]
		for _, node := range nodes {
			if node.place != place {
				continue
			}
			for _, k := range node.exits {
				left := to.leave[e*exits+int(k)]
				if left == nil {
					continue
				}
				for r := int(to.before[max(w.c, 0)]); r < int(to.before[e]); r++ {
					call := callOf[d.s.g.plan.number[to.start[r]]]
					if call < 0 || left[r] == 0 {
						continue
					}
					c := int(to.site[r])
					y := w.callsAt(c)[call]
					if y == 0 {
						continue
					}
					n := to.offset[r] + to.scale[c/d.s.tile][e] + w.scale[c] - w.scale[e]
					d.put(float64(y*left[r])*algebra.Power(max(n, -900)), step{kind: byReturn, from: call, group: int32(g), k: k, site: c, row: int32(r)})
				}
			}
		}
	}
}

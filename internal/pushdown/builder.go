package pushdown

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// builder numbers the reachable parts of a Graph under construction.
type builder struct {
	*Graph
	l       *lifter
	byState [][]struct{ o, class int32 }
	weight  map[[4]int32]int32
	entered map[int32]bool
	half    []map[outcome]int32
}

// grow adds to a level the edges of new states and the returns of new exits. It reports whether it
// added anything. If the meter's context ends, it stops early.
func (b *builder) grow(lv int32, done *int, meter *poll.Meter) (grown bool) {
	v := &b.levels[lv]
	for ; *done < len(v.states); *done++ {
		grown = true
		from := int32(*done)
		if meter.Done(64 + len(b.byState[v.states[from]])) {
			return false
		}
		for _, x := range b.byState[v.states[from]] {
			switch o := b.l.list[x.o]; o.kind {
			case Inside:
				b.edge(&v.in, Inside, lv, from, b.state(lv, o.a), x.class)
			case Call:
				b.edge(&v.call, Call, lv, from, b.callOf(lv, o), x.class)
			case Return:
				b.edge(&v.out, Return, lv, from, b.exitOf(lv, o.a), x.class)
			}
		}
	}
	for i := 0; i < len(v.groups); i++ {
		callee := &b.levels[v.groups[i].callee]
		for len(v.groups[i].resume) < len(callee.exits) {
			grown = true
			k := callee.exits[len(v.groups[i].resume)]
			to := b.node(lv, b.l.after[k][v.groups[i].symbol])
			v.groups[i].resume = append(v.groups[i].resume, to)
		}
	}
	return grown
}

// node returns the node at which a level continues after the outcome o of a return. A new node gets
// a number.
func (b *builder) node(lv int32, o outcome) node {
	switch o.kind {
	case Dead:
		return node{-1, -1}
	case Inside:
		return node{b.state(lv, o.a), -1}
	}
	if h, ok := b.half[lv][o]; ok {
		return node{-1, h}
	}
	x := half{-1, -1}
	if o.kind == Call {
		x.call = b.callOf(lv, o)
	} else {
		x.exit = b.exitOf(lv, o.a)
	}
	v := &b.levels[lv]
	if b.half[lv] == nil {
		b.half[lv] = map[outcome]int32{}
	}
	h := int32(len(v.halves))
	b.half[lv][o] = h
	v.halves = append(v.halves, x)
	return node{-1, h}
}

// state returns the number of machine state q within level lv, and assigns one if necessary.
func (b *builder) state(lv, q int32) int32 {
	if b.local[q] < 0 {
		v := &b.levels[lv]
		b.local[q] = int32(len(v.states))
		v.states = append(v.states, q)
		v.final = append(v.final, lv == b.top && int(q) < len(b.m.Accept) && b.m.Accept[q])
	}
	return b.local[q]
}

func (b *builder) edge(es *[]algebra.Arrow, kind Kind, lv, from, to, class int32) {
	key := [4]int32{int32(kind), lv, from, to}
	w, ok := b.weight[key]
	if !ok {
		w = int32(len(b.weights))
		b.weight[key] = w
		b.weights = append(b.weights, nil)
		*es = append(*es, algebra.Arrow{From: from, To: to, W: w})
	}
	b.weights[w] = append(b.weights[w], class)
}

// callOf returns the number within level lv of the call that the outcome o describes, and
// assigns one if necessary.
func (b *builder) callOf(lv int32, o outcome) int32 {
	b.enterStart(o.b)
	v, callee := &b.levels[lv], b.starts[o.b].level
	at := slices.IndexFunc(v.groups, func(x group) bool { return x.symbol == o.a && x.callee == callee })
	if at < 0 {
		at = len(v.groups)
		v.groups = append(v.groups, group{symbol: o.a, callee: callee})
	}
	c := call{int32(at), o.b}
	if i := slices.Index(v.calls, c); i >= 0 {
		return int32(i)
	}
	i := int32(len(v.calls))
	v.calls = append(v.calls, c)
	v.groups[at].calls = append(v.groups[at].calls, i)
	return i
}

func (b *builder) enterStart(s int32) {
	if b.entered[s] {
		return
	}
	b.entered[s] = true
	if x := b.starts[s]; x.q >= 0 {
		b.state(x.level, x.q)
	} else {
		b.callOf(x.level, outcome{Call, x.symbol, x.sub})
	}
}

func (b *builder) exitOf(lv, k int32) int32 {
	v := &b.levels[lv]
	if i := slices.Index(v.exits, k); i >= 0 {
		return int32(i)
	}
	v.exits = append(v.exits, k)
	return int32(len(v.exits) - 1)
}

// pad adds the state after an accepted text, in which only padding tokens may follow.
func (b *builder) pad() {
	if len(b.v.Pad) == 0 {
		return
	}
	class := int32(len(b.members))
	b.members = append(b.members, b.v.Pad)
	for _, t := range b.v.Pad {
		b.class[t] = class
	}
	v := &b.levels[b.top]
	end := b.state(b.top, int32(b.m.States()))
	for q := range v.states {
		if int32(q) == end || v.final[q] {
			b.edge(&v.in, Inside, b.top, int32(q), end, class)
		}
	}
	v.final[end] = true
}

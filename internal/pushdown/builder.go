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
	from    []int32   // outcomes of machine state q are read[from[q]:from[q+1]]
	fill    []int32   // end of the outcomes of each state that are known
	at      []int32   // scratch of build
	read    []reading // by state and class
	seen    []int32
	lists   []int32 // memory for the lists of classes in the weights of the graph
	weight  [3][]weighed
	sorted  []int32 // scratch of edges
	turn    int32   // number of states whose edges have been added
	entered map[int32]bool
	half    []map[outcome]int32
}

// reading is the outcome, by its number, of the tokens of a class in a state. It then becomes the
// weight of their edge.
type reading struct{ o, class int32 }

// weighed is the weight of the last edge that was added to a target, and the turn of the edge's
// state.
type weighed struct{ w, turn int32 }

// together is the number of readings that fit the cache.
const together = 1 << 16

// build returns a builder of the graph g with the outcomes that the lifter has found. It is the
// lifter's only one.
func (l *lifter) build(g *Graph) *builder {
	n := l.m.States()
	b := &l.builder
	*b = builder{Graph: g, l: l, from: resize(b.from, n+1), fill: b.fill, at: b.at, read: slices.Grow(b.read[:0], l.pairs)[:l.pairs], seen: b.seen, weight: b.weight, sorted: b.sorted,
		lists: make([]int32, l.pairs), entered: map[int32]bool{}, half: make([]map[outcome]int32, l.m.Levels)}
	for i := range b.weight {
		b.weight[i] = b.weight[i][:0]
	}
	for _, row := range l.rows.list {
		for _, p := range row {
			b.from[p.q+1]++
		}
	}
	for q := range n {
		b.from[q+1] += b.from[q]
	}
	b.fill = append(b.fill[:0], b.from...)
	// Some states at a time, whose outcomes stay in the cache.
	b.at = resize(b.at, len(l.rows.list)) // number of pairs of each row that have been read
	for end := 0; end < n; {
		first := b.from[end]
		for end++; end < n && b.from[end+1]-first <= together; {
			end++
		}
		for c, row := range l.rows.list {
			i := int(b.at[c])
			for ; i < len(row) && int(row[i].q) < end; i++ {
				p := row[i]
				b.read[b.fill[p.q]] = reading{o: p.o, class: int32(c)}
				b.fill[p.q]++
			}
			b.at[c] = int32(i)
		}
	}
	b.reserve()
	return b
}

// reserve makes space for the edges of all states, of which few are unreachable. It saves many copies
// while they are added.
func (b *builder) reserve() {
	n := b.l.n
	edges, in := 0, make([]int, len(b.levels))
	b.seen = resize(b.seen, int(n)+len(b.l.list)) // 1 + the last state with each outcome
	seen := b.seen
	for q := range n {
		lv := b.m.Level[q]
		if b.m.Accept[q] { // see pad
			edges++
			in[lv]++
		}
		for _, x := range b.read[b.from[q]:b.from[q+1]] {
			if seen[x.o] != q+1 {
				seen[x.o] = q + 1
				edges++
				if x.o < n {
					in[lv]++
				}
			}
		}
	}
	b.weights = make([][]int32, 0, edges+1)
	for lv, n := range in {
		b.levels[lv].in = make([]algebra.Arrow, 0, n+1)
	}
}

// grow adds to a level the edges of new states and the returns of new exits. It reports whether it
// added anything. If the meter's context ends, it stops early.
func (b *builder) grow(lv int32, done *int, meter *poll.Meter) (grown bool) {
	v := &b.levels[lv]
	for ; *done < len(v.states); *done++ {
		grown = true
		q := v.states[*done]
		list := b.read[b.from[q]:b.from[q+1]]
		if meter.Done(64 + len(list)) {
			return false
		}
		b.edges(lv, int32(*done), list)
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

// edges adds the edges of a state of level lv.
func (b *builder) edges(lv, from int32, list []reading) {
	v, first := &b.levels[lv], int32(len(b.weights))
	b.turn++
	last := int32(-1)
	for i := range list {
		if list[i].o == last { // as often
			list[i].o = list[i-1].o
			continue
		}
		last = list[i].o
		switch o := b.l.outcome(list[i].o); o.kind {
		case Inside:
			list[i].o = b.edge(&v.in, Inside, from, b.state(lv, o.a))
		case Call:
			list[i].o = b.edge(&v.call, Call, from, b.callOf(lv, o))
		case Return:
			list[i].o = b.edge(&v.out, Return, from, b.exitOf(lv, o.a))
		}
	}
	// The lists of classes are parts of one slice.
	n := len(b.weights) - int(first)
	at := slices.Grow(b.sorted[:0], n+1)[:n+1]
	clear(at)
	for _, x := range list {
		at[x.o-first+1]++
	}
	for i := range n {
		at[i+1] += at[i]
	}
	all := b.lists[:len(list)]
	b.lists = b.lists[len(list):]
	for i := range n {
		b.weights[int(first)+i] = all[at[i]:at[i]:at[i+1]]
	}
	for _, x := range list {
		b.weights[x.o] = append(b.weights[x.o], x.class)
	}
	b.sorted = at
}

// edge returns the weight of the edge of a kind between two parts of a level. The edge is added if it
// is not there yet.
func (b *builder) edge(es *[]algebra.Arrow, kind Kind, from, to int32) int32 {
	known := &b.weight[kind-Inside]
	for int(to) >= len(*known) {
		*known = append(*known, weighed{})
	}
	x := &(*known)[to]
	if x.turn != b.turn {
		*x = weighed{int32(len(b.weights)), b.turn}
		b.weights = append(b.weights, nil)
		*es = append(*es, algebra.Arrow{From: from, To: to, W: x.w})
	}
	return x.w
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
	class := int32(len(b.members) - 1)
	v := &b.levels[b.top]
	end := b.state(b.top, int32(b.m.States()))
	for q := range v.states {
		if int32(q) == end || v.final[q] {
			v.in = append(v.in, algebra.Arrow{From: int32(q), To: end, W: int32(len(b.weights))})
			b.weights = append(b.weights, []int32{class})
		}
	}
	v.final[end] = true
}

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
	read    []reading // by state and row
	known   []known   // by outcome
	turn    int32     // number of states whose edges have been found
	targets []target  // scratch of edges
	sets    []int32
	entered []bool // starts
	half    []map[outcome]int32
	leaving []map[outcome]int32 // numbers of the calls and exits of each level
	padded  []int32             // states with an edge to the last state of the level top, for padding
	padding int32               // weight of these edges

	has     []int32 // classes of row r are member[has[r]:has[r+1]]
	member  []int32
	lists   table[int32] // classes of each weight
	single  []int32      // 1 + the weight of the classes of each row, 0 if unknown
	unions  table[int32] // lists of several rows
	union   []int32      // weight of the classes of each list of rows
	merged  []int32      // scratch of weightOf
	merging int          // number of classes merged since the context was last polled
	space   space[int32] // of lists and unions
}

// reading is the outcome, by its number, of the tokens of a row in a state. It then becomes an edge: its
// target, see the method code, and its weight.
type reading struct{ o, row int32 }

// target is the target of an edge of the state whose edges are being found, and the number of rows whose
// tokens follow the edge.
type target struct{ code, rows int32 }

// known is what is known of an outcome: the last edge with it, by its number within the state of the
// given turn; and its code in level − 1. A level of 0 means that no code is known.
type known struct{ edge, turn, level, code int32 }

// build returns a builder of the graph g with the outcomes that the lifter has found. It is the
// lifter's only one.
func (l *lifter) build(g *Graph) *builder {
	b := &l.builder
	b.Graph, b.l, b.turn, b.merging = g, l, 0, 0
	b.half, b.leaving = make([]map[outcome]int32, l.m.Levels), make([]map[outcome]int32, l.m.Levels)
	b.known, b.entered = resize(b.known, int(l.n)+len(l.list)), resize(b.entered, len(l.starts))
	b.padded = b.padded[:0]
	b.lists.clear()
	b.unions.clear()
	b.union = b.union[:0]
	b.single = resize(b.single, len(l.rows.list))
	b.space.reset()
	b.invert()
	b.readings()
	return b
}

// release drops the references to the graph, so that a pool does not keep it.
func (b *builder) release() { b.Graph, b.l, b.half, b.leaving = nil, nil, nil, nil }

// invert finds the classes of each row.
func (b *builder) invert() {
	rows, n := &b.l.classes, 0
	b.has = resize(b.has, len(b.l.rows.list)+1)
	for _, list := range rows.list {
		n += len(list)
		for _, r := range list {
			b.has[r+1]++
		}
	}
	b.member = scratch(b.member, n)
	b.fill = upTo(b.has, b.fill)
	fill := b.fill
	for c, list := range rows.list {
		for _, r := range list {
			b.member[fill[r]] = int32(c)
			fill[r]++
		}
	}
}

// upTo replaces counts[i+1], the number of entries of i, by the end of these entries if those of 0, 1, …
// follow each other. The entry counts[0] must be 0. It returns a copy in the memory of dst.
func upTo(counts, dst []int32) []int32 {
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	return append(dst[:0], counts...)
}

// readings sorts the outcomes by state.
func (b *builder) readings() {
	b.from = resize(b.from, b.m.States()+2) // the state that pad adds has none
	b.read = scratch(b.read, b.l.pairs)
	for _, row := range b.l.rows.list {
		for _, p := range row {
			b.from[p.q+1]++
		}
	}
	b.fill = upTo(b.from, b.fill)
	fill := b.fill
	for r, row := range b.l.rows.list {
		for _, p := range row {
			b.read[fill[p.q]] = reading{p.o, int32(r)}
			fill[p.q]++
		}
	}
}

// grow adds to a level the edges of new states and the returns of new exits. It reports whether it
// added anything. If the meter's context ends, or the lift keeps too much, it stops early.
func (b *builder) grow(lv int32, done *int, meter *poll.Meter) (grown bool) {
	v := &b.levels[lv]
	for ; *done < len(v.states); *done++ {
		grown = true
		q := v.states[*done]
		if meter.Done(64+len(b.readingsOf(q))+b.merging) || b.l.kept > limit {
			return false
		}
		b.merging = 0
		b.edges(lv, q)
	}
	for i := 0; i < len(v.groups); i++ {
		callee := &b.levels[v.groups[i].callee]
		for len(v.groups[i].resume) < len(callee.exits) {
			if b.l.kept++; meter.Done(8) || b.l.kept > limit {
				return false
			}
			grown = true
			k := callee.exits[len(v.groups[i].resume)]
			to := b.node(lv, b.l.resume(k, v.groups[i].symbol))
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
	h := int32(len(v.halves))
	note(b.half, lv, o, h)
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

// edges finds the edges of machine state q in level lv. They replace its readings.
func (b *builder) edges(lv, q int32) {
	list := b.readingsOf(q)
	b.turn++
	b.targets = b.targets[:0]
	for i := range list {
		o := list[i].o
		x := &b.known[o]
		if x.turn != b.turn {
			if x.level != lv+1 {
				x.level, x.code = lv+1, b.code(lv, o)
			}
			x.edge, x.turn = int32(len(b.targets)), b.turn
			b.targets = append(b.targets, target{code: x.code})
		}
		list[i].o = x.edge
		b.targets[x.edge].rows++
	}
	// The rows of each edge are parts of one slice.
	b.sets = scratch(b.sets, len(list))
	n := int32(0)
	for k := range b.targets {
		n += b.targets[k].rows
		b.targets[k].rows = n - b.targets[k].rows
	}
	for _, x := range list {
		t := &b.targets[x.o]
		b.sets[t.rows] = x.row
		t.rows++
	}
	n = 0
	for k, t := range b.targets {
		list[k] = reading{t.code, b.weightOf(b.sets[n:t.rows])}
		n = t.rows
	}
	b.fill[q] = b.from[q] + int32(len(b.targets))
}

// readingsOf returns the readings of machine state q or, after [builder.edges], its edges.
func (b *builder) readingsOf(q int32) []reading { return b.read[b.from[q]:b.fill[q]] }

// fans sorts the edges of level lv by target.
func (b *builder) fans(lv int32) {
	v, padded := &b.levels[lv], b.padded
	if lv != b.top {
		padded = nil
	}
	fans, next := [...]*algebra.Fan{Inside: &v.in, Call: &v.call, Return: &v.out}, [...][]int32{Return: nil}
	v.in.At, v.call.At, v.out.At = make([]int32, len(v.states)+1), make([]int32, len(v.calls)+1), make([]int32, len(v.exits)+1)
	for _, q := range v.states {
		for _, x := range b.readingsOf(q) {
			fans[x.o&3].At[x.o>>2+1]++
		}
	}
	v.in.At[len(v.states)] += int32(len(padded))
	for k := Inside; k <= Return; k++ {
		next[k] = upTo(fans[k].At, nil)
		fans[k].All = make([]algebra.Source, fans[k].At[len(fans[k].At)-1])
	}
	for from, q := range v.states {
		for _, x := range b.readingsOf(q) {
			at := &next[x.o&3][x.o>>2]
			fans[x.o&3].All[*at] = algebra.Source{From: int32(from), W: x.row}
			*at++
		}
	}
	for i, from := range padded {
		v.in.All[len(v.in.All)-len(padded)+i] = algebra.Source{From: from, W: b.padding}
	}
}

// code returns the target, within level lv, of the edges with outcome o: four times the number of a
// state, call or exit, plus the kind.
func (b *builder) code(lv, o int32) int32 {
	if o < b.l.n {
		return b.state(lv, o)<<2 | int32(Inside)
	}
	to := b.l.outcome(o)
	if to.kind == Call {
		return b.callOf(lv, to)<<2 | int32(Call)
	}
	return b.exitOf(lv, to.a)<<2 | int32(Return)
}

// weightOf returns the weight of the classes of the given rows of one family.
func (b *builder) weightOf(rows []int32) int32 {
	if len(rows) == 1 {
		w := &b.single[rows[0]]
		if *w == 0 {
			*w = 1 + b.weight(b.classesOf(rows[0]))
		}
		return *w - 1
	}
	i, known := b.find(&b.unions, rows)
	if !known {
		b.merged = b.merged[:0]
		for _, r := range rows {
			b.merged = append(b.merged, b.classesOf(r)...)
		}
		b.merging += len(b.merged)
		slices.Sort(b.merged)
		b.union = append(b.union, b.weight(b.merged))
	}
	return b.union[i]
}

// classesOf returns the classes of a row in ascending order.
func (b *builder) classesOf(r int32) []int32 { return b.member[b.has[r]:b.has[r+1]] }

// weight returns the number of the weight of the given classes, and assigns one if necessary.
func (b *builder) weight(classes []int32) int32 {
	w, known := b.find(&b.lists, classes)
	if !known {
		b.l.kept += len(classes) / 2
	}
	return w
}

// find returns the number of a list in a table and whether it was there. If it was not, find adds a copy.
func (b *builder) find(t *table[int32], list []int32) (number int32, known bool) {
	h := uint64(0)
	for _, x := range list {
		h += hash(x)
	}
	if number, known = t.find(h, list); !known {
		own := b.space.take(len(list))
		copy(own, list)
		t.add(h, own)
	}
	return number, known
}

// callOf returns the number within level lv of the call that the outcome o describes, and
// assigns one if necessary.
func (b *builder) callOf(lv int32, o outcome) int32 {
	if i, ok := b.leaving[lv][o]; ok {
		return i
	}
	b.enterStart(o.b)
	v, callee := &b.levels[lv], b.starts[o.b].level
	at := slices.IndexFunc(v.groups, func(x group) bool { return x.symbol == o.a && x.callee == callee })
	if at < 0 {
		at = len(v.groups)
		v.groups = append(v.groups, group{symbol: o.a, callee: callee})
	}
	i := int32(len(v.calls))
	v.calls = append(v.calls, call{int32(at), o.b})
	v.groups[at].calls = append(v.groups[at].calls, i)
	note(b.leaving, lv, o, i)
	return i
}

// note sets the number of an outcome of level lv.
func note(numbers []map[outcome]int32, lv int32, o outcome, number int32) {
	if numbers[lv] == nil {
		numbers[lv] = map[outcome]int32{}
	}
	numbers[lv][o] = number
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

// exitOf returns the number within level lv of exit k of the reader, and assigns one if necessary.
func (b *builder) exitOf(lv, k int32) int32 {
	o := outcome{Return, k, 0}
	i, ok := b.leaving[lv][o]
	if !ok {
		v := &b.levels[lv]
		i = int32(len(v.exits))
		v.exits = append(v.exits, k)
		note(b.leaving, lv, o, i)
	}
	return i
}

// pad adds the state after an accepted text, in which only padding tokens may follow.
func (b *builder) pad() {
	if len(b.v.Pad) == 0 {
		return
	}
	v := &b.levels[b.top]
	end := b.state(b.top, int32(b.m.States()))
	v.final[end] = true
	for q, final := range v.final {
		if final {
			b.padded = append(b.padded, int32(q))
		}
	}
	b.padding = b.weight([]int32{int32(b.blocks.classes() - 1)})
}

package grammar

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// shapes numbers divisions of the classes of bytes into slots.
type shapes struct {
	pushdown.Shapes
	joined map[[2]int32]int32 // results of join
}

// Estimated memory in bytes of a shape without its slots, and of a result of join.
const (
	shapeBytes = 40
	joinBytes  = 32
)

// memory returns the estimated memory in bytes for shapes of the given number of classes.
func (s *shapes) memory(classes int) int {
	return s.Len()*(shapeBytes+2*classes) + joinBytes*len(s.joined)
}

// each returns the shape in which each of n classes is a slot.
func (s *shapes) each(n int) int32 {
	var slots [256]uint8
	for c := range n {
		slots[c] = uint8(c)
	}
	return s.Find(slots[:n])
}

// join returns the shape that distinguishes two classes if one of two shapes does.
func (s *shapes) join(a, b int32) int32 {
	if a == b {
		return a
	}
	k := [2]int32{min(a, b), max(a, b)}
	i, ok := s.joined[k]
	if !ok {
		x, y := s.Slots(a), s.Slots(b)
		var pairs [256]uint16
		for c := range x {
			pairs[c] = uint16(x[c])<<8 | uint16(y[c])
		}
		var by pushdown.Splitter[uint16]
		slots, _ := by.Split(pairs[:len(x)])
		i = s.Find(slots)
		if s.joined == nil {
			s.joined = map[[2]int32]int32{}
		}
		s.joined[k] = i
	}
	return i
}

// coarser returns a shape without the differences between slots that have the same entry in to.
func (s *shapes) coarser(a int32, to []uint8) int32 {
	var slots [256]uint8
	x := s.Slots(a)
	for c, k := range x {
		slots[c] = to[k]
	}
	return s.Find(slots[:len(x)])
}

// reading is what an item does with each byte. It divides the classes of bytes into the slots of a shape.
// What the bytes of slot k lead to is leads[at+k].
type reading struct{ shape, at int32 }

// itemList is a list of items, which are those numbered next[from:to], in ascending order. If it is open,
// gates may add more items. If it is short, all items that can be reached from them without reading a byte
// must be added, too.
type itemList struct {
	from, to    int32
	open, short bool
}

// longest is the largest number of items in a list that is not short. Many items may lead to the same items,
// and each of them has its own list. TestLongLists has a grammar that needs the bound.
const longest = 64

// none is the complement of the number of the empty list.
const none = ^int32(0)

// readings holds the readings of items by their numbers, with a shape of −1 until they are needed.
type readings struct {
	of    []reading
	leads []int32    // see the method lead
	lists []itemList // the first one is empty
	next  []int32
	calls bool // true if some of these items call rules

	shapes map[*stringAutomaton][]int32 // shapes by those of an automaton, −1 until needed
	split  pushdown.Splitter[int32]
	codes  pushdown.Splitter[code]
	row    []code // scratch of fill
	begin  []item // scratch of readingOf
}

// memory returns the estimated memory in bytes of all states and of the readings of their items.
func (r *runs) memory() int {
	x := &r.reads
	if max(len(x.leads), len(x.next)) > math.MaxInt32/2 { // they are referred to by 32 bits
		return math.MaxInt
	}
	return r.subsets.memory() + 8*len(x.of) + 4*len(x.leads) + 4*len(x.next) + 12*len(x.lists)
}

// fill computes all moves of state q, one for each class of bytes that all items treat alike.
func (r *runs) fill(q int32) {
	if r.states[q].full {
		return
	}
	at, n := int32(0), len(r.byteClasses().some)
	for i, p := range r.itemsOf(q) {
		if x := r.reading(p); i == 0 {
			at = x.shape
		} else {
			at = r.shapes.join(at, x.shape)
		}
	}
	joint := at
	v := r.states[q]
	if v.ends > 0 && v.level != r.states[r.start].level {
		at = r.shapes.each(n) // the rule may end with bytes that nothing reads, which differ for the caller
	}
	row := r.reads.row[:0]
	slots, first := r.shapes.Slots(joint), r.shapes.First(joint)
	for _, c := range r.shapes.First(at) {
		if f := first[slots[c]]; f < c && !r.ahead(row[f]) {
			row = append(row, row[f])
			continue
		}
		m, err := r.successor(q, int(c))
		if err != nil {
			r.fail(err)
			return
		}
		row = append(row, r.encode(m))
	}
	r.reads.row = row
	if slots, codes := r.reads.codes.Split(row); len(codes) < len(row) {
		row, at = codes, r.shapes.coarser(at, slots)
	}
	r.setRow(q, at, row)
	r.states[q].full = true
}

// ahead reports whether m is a return with a byte that the rule does not read.
func (r *runs) ahead(m code) bool {
	return m > unknown && pushdown.Kind(m&3) == pushdown.Return && r.subsets.list[m>>2].ahead >= 0
}

// successor computes the move of state q on a class of bytes. The readings of its items must be known.
func (r *runs) successor(q int32, class int) (pushdown.Move, error) {
	parts := r.itemsOf(q)
	if r.meter.Done(64 + 8*len(parts)) {
		return pushdown.Move{}, r.meter.Err()
	}
	r.next = r.next[:0]
	var calls []callArc
	open, short, sorted, last := false, false, true, int32(-1)
	for _, p := range parts {
		x := r.reads.of[p]
		if y := r.reads.leads[x.at+int32(r.shapes.Slots(x.shape)[class])]; y >= 0 {
			sorted = sorted && y > last
			last = y
			r.next = append(r.next, y)
		} else if y != none {
			l := r.reads.lists[^y]
			open, short = open || l.open, short || l.short
			for _, y := range r.reads.next[l.from:l.to] {
				sorted = sorted && y > last
				last = y
				r.next = append(r.next, y)
			}
		}
		if r.reads.calls {
			calls = append(calls, r.n.nodes[r.items.Values[p].node].calls...)
		}
	}
	b := r.classes.some[class]
	next := r.next // the scratch of find
	if m, left, err := r.leave(q, b, len(next) > 0, calls); left || err != nil {
		return m, err
	}
	level := r.states[q].level
	if open || short {
		r.set.reset()
		for _, y := range next {
			if x := r.items.Values[y]; short {
				r.set.put(x)
			} else {
				r.set.add(x)
			}
		}
		return r.settle(level, r.find(level)), nil
	}
	if !sorted {
		slices.Sort(next)
		next = slices.Compact(next)
	}
	return r.settle(level, r.state(level, next)), nil
}

// reading returns what the item numbered p does with each byte.
func (r *runs) reading(p int32) reading {
	s := &r.reads
	for len(s.of) <= int(p) {
		s.of = append(algebra.Grown(s.of, 1), reading{shape: -1})
	}
	if s.of[p].shape < 0 {
		s.of[p] = r.readingOf(r.items.Values[p])
	}
	return s.of[p]
}

// readingOf computes what x does with each byte.
func (r *runs) readingOf(x item) reading {
	s, classes := &r.reads, r.byteClasses()
	v := &r.n.nodes[x.node]
	at := int32(len(s.leads))
	t, is := v.scalar.(*table)
	if !is {
		shape := r.plain(v)
		for _, c := range r.shapes.First(shape) {
			b := classes.some[c]
			s.begin = s.begin[:0]
			for _, a := range v.arcs {
				if a.low <= b && b <= a.high {
					s.begin = append(s.begin, r.n.initial(a.to))
				}
			}
			s.leads = append(algebra.Grown(s.leads, 1), r.lead(s.begin))
		}
		return reading{shape, at}
	}
	shape, moves := r.moved(t, x.state)
	for _, to := range moves {
		lead := none
		switch {
		case to < 0:
		case t.final(to):
			s.begin = append(s.begin[:0], item{t.node(x.node, to), to})
			lead = r.lead(s.begin)
		default:
			lead = r.items.Find(item{t.node(x.node, to), to})
		}
		s.leads = append(algebra.Grown(s.leads, 1), lead)
	}
	return reading{shape, at}
}

// lead returns the lead to the given items and all that can be reached from them without reading a byte. It
// is the number of an item, or the complement of that of a list.
func (r *runs) lead(begin []item) int32 {
	s, n := &r.reads, &r.set
	n.reset()
	n.most = longest
	for _, x := range begin {
		n.put(x)
	}
	n.most = 0
	items, short := n.items, len(n.items) > longest
	if short {
		items = begin
	}
	from, open := len(s.next), len(n.gates) > 0 || !slices.ContainsFunc(items, func(x item) bool { return !n.idle(x) })
	for _, x := range items {
		if open || short || !n.idle(x) {
			s.next = append(algebra.Grown(s.next, 1), r.items.Find(x))
		}
	}
	switch len(s.next) - from {
	case 0:
		return none
	case 1:
		if !open && !short {
			one := s.next[from]
			s.next = s.next[:from]
			return one
		}
	}
	slices.Sort(s.next[from:])
	s.lists = append(s.lists, itemList{int32(from), int32(len(s.next)), open, short})
	return ^int32(len(s.lists) - 1)
}

// spread returns the shape in which the classes of bytes of an automaton have the given slots.
func (r *runs) spread(c *byteClasses, slots []uint8) int32 {
	var row [256]uint8
	some := r.byteClasses().some
	for i, b := range some {
		row[i] = slots[c.of[b]]
	}
	return r.shapes.Find(row[:len(some)])
}

// moved returns a shape and the next state of t in state q for each of its slots, −1 if it is dead. The
// states are valid until the next call.
func (r *runs) moved(t *table, q int32) (shape int32, moves []int32) {
	switch a := t.automaton.(type) {
	case *counted:
		from := a.Values[q]
		shape, moves = r.rowOfString(a.a, from.at)
		for k, to := range moves {
			moves[k] = a.to(from, to)
		}
	case *nameRun:
		if !t.all || !a.reads(q) {
			break
		}
		shape, moves = r.rowOfString(a.o.keys, q)
		for k, to := range moves {
			if to >= 0 && !a.possible(to) {
				moves[k] = -1
			}
		}
	}
	if moves == nil {
		c := r.scalarMoves(t, q)
		slots, moves := r.reads.split.Split(r.moves[:len(c.some)])
		return r.spread(c, slots), moves
	}
	slots, values := r.reads.split.Split(moves)
	if len(values) < len(moves) {
		shape = r.shapes.coarser(shape, slots)
	}
	return shape, values
}

// rowOfString returns a shape and the next state of a in state q for each of its slots, −1 if it is dead.
// The states may be changed, and are valid until the next call.
func (r *runs) rowOfString(a *stringAutomaton, q int32) (shape int32, moves []int32) {
	s := &r.reads
	of, moves := a.row(q)
	list := s.shapes[a]
	if int(of) >= len(list) {
		if s.shapes == nil {
			s.shapes = map[*stringAutomaton][]int32{}
		}
		for len(list) < a.shapes.Len() {
			list = append(list, -1)
		}
		s.shapes[a] = list
	}
	if list[of] < 0 {
		list[of] = r.spread(a.byteClasses(), a.shapes.Slots(of))
	}
	return list[of], r.moves[:copy(r.moves[:], moves)]
}

// plain returns the shape of what a node without an automaton does with each byte.
func (r *runs) plain(v *node) int32 {
	classes := r.byteClasses()
	n := len(classes.some)
	var row [256]int32
	c := newByteClasses()
	bits := 0 // bits of row in use
	for _, a := range v.arcs {
		if a.low == a.high {
			row[classes.of[a.low]] |= 1 << bits
		} else {
			for i, b := range classes.some {
				if a.low <= b && b <= a.high {
					row[i] |= 1 << bits
				}
			}
		}
		if bits++; bits == 31 {
			c.splitBy(row[:n])
			clear(row[:n])
			bits = 0
		}
	}
	c.splitBy(row[:n])
	if len(v.calls) > 0 {
		r.reads.calls = true
		clear(row[:n])
		for i, b := range classes.some { // what a call does with its first byte may be anything
			if slices.ContainsFunc(v.calls, func(c callArc) bool { return r.begins(c.rule, b) }) {
				row[i] = 1 + int32(i)
			}
		}
		c.splitBy(row[:n])
	}
	return r.shapes.Find(c.of[:n])
}

// scalarMoves sets r.moves to the next state of the automaton a in state q for every class of bytes,
// −1 if it is dead, and returns the classes.
func (r *runs) scalarMoves(a *table, q int32) (c *byteClasses) {
	c = a.byteClasses()
	moves := r.moves[:len(c.some)]
	for i := range moves {
		moves[i] = -1
	}
	r.bytes = a.reads(r.bytes[:0], q)
	next := a.next
	if a.all { // they are needed once
		next = a.automaton.next
	}
	for _, b := range r.bytes {
		moves[c.of[b]] = next(q, b)
	}
	return c
}

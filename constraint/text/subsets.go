package text

import (
	"context"
	"encoding/binary"
	"regexp/syntax"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// determinise runs the subset construction over rune classes. A state is the
// set of instructions that a match may wait at — consuming ones, assertions
// and the final one, closed under everything else — and the kind of the rune
// before, which assertions look at together with the rune after.
func determinise(ctx context.Context, name string, prog *syntax.Prog, runes *runeClasses, limits constraint.Limits) (*automata.Table, error) {
	d := &subsets{
		prog: prog, runes: runes,
		number: map[string]int32{},
		seen:   make([]uint32, len(prog.Inst)),
	}
	for i := range prog.Inst {
		d.looks = d.looks || prog.Inst[i].Op == syntax.InstEmptyWidth
	}
	k := len(runes.rep)
	t := &automata.Table{Class: automata.Identity(k), Width: k}
	d.begin()
	d.add(uint32(prog.Start))
	d.find(d.kindOf(-1))
	var meter poll.Meter
	meter.Watch(ctx)
	if meter.Poll() != nil {
		return nil, meter.Err()
	}
	for head := 0; head < len(d.states); head++ {
		s := d.states[head]
		t.Final = append(t.Final, d.matches(s))
		for c := range k {
			t.To = append(t.To, d.step(s, c))
			if meter.Done(d.work) {
				return nil, meter.Err()
			}
			d.work = 0
		}
		if err := limits.Check(name, len(d.states), k*len(d.states), d.bytes); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// subsets numbers sets of instructions.
type subsets struct {
	prog   *syntax.Prog
	runes  *runeClasses
	looks  bool // the program has assertions
	number map[string]int32
	states []subset
	bytes  int // memory of the states
	work   int // instructions visited since they were last counted

	set   []uint32 // the set under construction
	seen  []uint32 // seen[pc] = round: pc was visited in this round
	round uint32
	key   []byte
	todo  []uint32
}

type subset struct {
	set    []uint32 // ascending
	before kind
}

// kindOf returns the kind of a rune, as far as the program distinguishes kinds.
func (d *subsets) kindOf(r rune) kind {
	if d.looks {
		return kindOf(r)
	}
	return kindOther
}

// begin empties the set under construction.
func (d *subsets) begin() {
	d.set = d.set[:0]
	d.round++
	if d.round == 0 { // wrapped around
		clear(d.seen)
		d.round = 1
	}
}

// add puts an instruction into the set, or those that it leads to for free.
func (d *subsets) add(pc uint32) {
	d.todo = append(d.todo[:0], pc)
	for len(d.todo) > 0 {
		pc := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		if d.seen[pc] == d.round {
			continue
		}
		d.seen[pc] = d.round
		d.work++
		switch i := &d.prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			d.todo = append(d.todo, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.todo = append(d.todo, i.Out)
		case syntax.InstFail:
		default:
			d.set = append(d.set, pc)
		}
	}
}

// find returns the number of the set under construction, −1 if it is empty.
func (d *subsets) find(before kind) int32 {
	if len(d.set) == 0 {
		return -1
	}
	slices.Sort(d.set)
	d.key = append(d.key[:0], byte(before))
	for _, pc := range d.set {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	if id, ok := d.number[string(d.key)]; ok {
		return id
	}
	id := int32(len(d.states))
	d.number[string(d.key)] = id
	d.states = append(d.states, subset{slices.Clone(d.set), before})
	d.bytes += 2 * len(d.key)
	return id
}

// satisfied returns the set of s together with what its assertions let through
// between the runes before and after. The result is d.set.
func (d *subsets) satisfied(s subset, after kind) []uint32 {
	d.begin()
	for _, pc := range s.set {
		d.add(pc)
	}
	flags := syntax.EmptyOpContext(example[s.before], example[after])
	for i := 0; i < len(d.set); i++ {
		inst := &d.prog.Inst[d.set[i]]
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&^flags == 0 {
			d.add(inst.Out)
		}
	}
	return d.set
}

// matches reports whether the text may end in s.
func (d *subsets) matches(s subset) bool {
	set := s.set
	if d.looks {
		set = d.satisfied(s, kindEdge)
	}
	for _, pc := range set {
		if d.prog.Inst[pc].Op == syntax.InstMatch {
			return true
		}
	}
	return false
}

// step returns the number of the state after a rune of class c.
func (d *subsets) step(s subset, c int) int32 {
	set, before := s.set, d.kindOf(d.runes.rep[c])
	if d.looks {
		set = slices.Clone(d.satisfied(s, before))
	}
	d.begin()
	for _, pc := range set {
		d.work++
		if m := d.runes.inst[pc]; m != nil && m[c] {
			d.add(d.prog.Inst[pc].Out)
		}
	}
	return d.find(before)
}

// functions are the partial functions from byte states to byte states that texts
// compute: the transition monoid of the byte automaton, as far as a vocabulary
// needs it. Tokens that compute the same function are one class, however many
// bytes they have, so that the vocabulary is walked once and not once a state.
type functions struct {
	next    []int32 // table of the byte automaton
	classes int
	of      []int32 // class of each byte
	child   []int32 // function after a byte class, by function and class; unknown, none
	lists
}

// newFunctions begins with the identity, which is function 0.
func newFunctions(next []int32, classes int, of []int32, states int) *functions {
	f := &functions{next: next, classes: classes, of: of}
	for s := range int32(states) {
		f.put(s, s)
	}
	f.intern()
	f.grow()
	return f
}

// grow allocates the children of the youngest function.
func (f *functions) grow() {
	for range f.classes {
		f.child = append(f.child, unknown)
	}
}

// after returns function id followed by a byte, none if that is defined nowhere.
func (f *functions) after(id int32, b byte) int32 {
	at := int(id)*f.classes + int(f.of[b])
	if f.child[at] != unknown {
		return f.child[at]
	}
	c, n := int(f.of[b]), f.len()
	for i := f.first[id]; i < f.first[id+1]; i++ {
		if to := f.next[int(f.to[i])*f.classes+c]; to >= 0 {
			f.put(f.from[i], to)
		}
	}
	found := f.intern()
	if f.len() > n {
		f.grow()
	}
	f.child[at] = found
	return found
}

const (
	none    = -1 // defined nowhere
	unknown = -2
)

// lists are partial functions, each kept once, as pairs of arguments and values in
// ascending order of the arguments.
type lists struct {
	from, to []int32
	first    []int32 // list i is from[first[i]:first[i+1]]
	number   map[uint64]int32
	same     []int32 // the next list of the same hash, none
}

// len returns the number of lists.
func (l *lists) len() int { return max(0, len(l.first)-1) }

// put appends a pair to the list under construction.
func (l *lists) put(from, to int32) {
	l.from, l.to = append(l.from, from), append(l.to, to)
}

// intern ends the list under construction and returns its number, none if it is
// empty.
func (l *lists) intern() int32 {
	if l.number == nil {
		l.number, l.first = map[uint64]int32{}, []int32{0}
	}
	n := len(l.first) - 1
	at := l.first[n]
	if int(at) == len(l.from) {
		return none
	}
	hash := uint64(len(l.from)) - uint64(at)
	for i := at; int(i) < len(l.from); i++ {
		// Equality is checked below, so any mixing does.
		hash = (hash ^ uint64(uint32(l.from[i]))<<32 ^ uint64(uint32(l.to[i]))) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	last, known := l.number[hash]
	for id := last; known && id != none; id = l.same[id] {
		a, b := l.first[id], l.first[id+1]
		if slices.Equal(l.from[a:b], l.from[at:]) && slices.Equal(l.to[a:b], l.to[at:]) {
			l.from, l.to = l.from[:at], l.to[:at]
			return id
		}
	}
	if !known {
		last = none
	}
	l.number[hash] = int32(n)
	l.same = append(l.same, last)
	l.first = append(l.first, int32(len(l.from)))
	return int32(n)
}

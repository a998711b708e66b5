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

// determinise runs the subset construction over rune classes. A state is a set of instructions
// at which a match may wait, and the kind of the preceding rune. The set contains instructions
// that consume a rune, assertions and the final instruction, and is closed under all other
// instructions. An assertion depends on the kinds of the preceding and the following rune.
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

// subsets assigns numbers to sets of instructions.
type subsets struct {
	prog   *syntax.Prog
	runes  *runeClasses
	looks  bool // true if the program has assertions
	number map[string]int32
	states []subset
	bytes  int // memory of the states in bytes
	work   int // number of instructions visited since the last poll of the context

	set   []uint32 // set of instructions under construction
	seen  []uint32 // seen[pc] is the last round in which pc was visited
	round uint32
	key   []byte
	todo  []uint32
}

type subset struct {
	set    []uint32 // instructions in ascending order
	before kind
}

// kindOf returns the kind of a rune. If the program has no assertions, all runes are of one
// kind.
func (d *subsets) kindOf(r rune) kind {
	if d.looks {
		return kindOf(r)
	}
	return kindOther
}

// begin starts a new, empty set.
func (d *subsets) begin() {
	d.set = d.set[:0]
	d.round++
	if d.round == 0 { // wrapped around
		clear(d.seen)
		d.round = 1
	}
}

// add adds the instruction pc to the set. If pc does not consume a rune, it adds the
// instructions to which pc leads instead.
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

// find returns the index of the set under construction, or −1 if it is empty.
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

// satisfied returns the set of s, extended by the instructions behind assertions that hold
// between the preceding rune and a rune of kind after. The result is d.set.
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

// step returns the index of the state after a rune of class c, or −1.
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

// functions holds the partial functions from byte states to byte states that texts compute.
// They are the part of the byte automaton's transition monoid that a vocabulary needs. Tokens
// that compute the same function form one class. The vocabulary is therefore walked only once,
// instead of once for each state.
type functions struct {
	next    []int32 // table of the byte automaton
	classes int
	of      []int32 // class of each byte
	// function after one more byte, by function and byte class; may be unknown or none
	child []int32
	lists
}

// newFunctions returns a set of functions that contains only the identity, as function 0.
func newFunctions(next []int32, classes int, of []int32, states int) *functions {
	f := &functions{next: next, classes: classes, of: of}
	for s := range int32(states) {
		f.put(s, s)
	}
	f.intern()
	f.grow()
	return f
}

// grow allocates the entries of child for the newest function.
func (f *functions) grow() {
	for range f.classes {
		f.child = append(f.child, unknown)
	}
}

// after returns the function that applies function id and then reads the byte b, or none if it
// is defined for no state.
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
	none    = -1 // function that is defined for no state
	unknown = -2
)

// lists stores partial functions without duplicates, as pairs of arguments and values in
// ascending order of the arguments.
type lists struct {
	from, to []int32
	first    []int32 // list i is from[first[i]:first[i+1]]
	number   map[uint64]int32
	same     []int32 // next list with the same hash, none if there is none
}

// len returns the number of lists.
func (l *lists) len() int { return max(0, len(l.first)-1) }

// put appends the pair (from, to) to the list under construction.
func (l *lists) put(from, to int32) {
	l.from, l.to = append(l.from, from), append(l.to, to)
}

// intern completes the list under construction and returns its number, or none if it is empty.
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

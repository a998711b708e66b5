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
	polled := 0
	for head := 0; head < len(d.states); head++ {
		if d.work-polled > automata.PollWork || head == 0 {
			polled = d.work
			if poll.Err(ctx) != nil {
				return nil, context.Cause(ctx)
			}
		}
		s := d.states[head]
		t.Final = append(t.Final, d.matches(s))
		for c := range k {
			t.To = append(t.To, d.step(s, c))
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
	work   int // instructions visited

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

// kindOf returns the kind of a rune, as far as the program cares.
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

package pushdown

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Minimal returns a machine for the same language, or nil if the language is empty. It removes
// states that cannot be reached, and states that lead neither to the end of a text nor to a return
// from their level. It merges equivalent states of the same level. It also merges equivalent call
// symbols, and equivalent return symbols. The machine m must have passed [Machine.Check]. Minimal
// takes time O(n log n) for a machine whose tables have n entries. Minimal fails only if ctx ends;
// the error is the cause of ctx.
func (m *Machine) Minimal(ctx context.Context) (*Machine, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	live, err := m.living(meter)
	if err != nil {
		return nil, err
	}
	if !live[m.Start] {
		return nil, nil
	}
	p := parts{Machine: m, live: live, call: int32(len(m.Level)), ret: int32(len(m.Level) + len(m.Resume))}
	arcs, edges, first, blocks := p.edges()
	if p.block, p.blocks, err = arcs.Refine(ctx, edges, first, blocks); err != nil {
		return nil, err
	}
	return p.machine(meter)
}

// parts numbers the states, the call symbols and the return symbols of a machine consecutively, in
// this order. The field block holds the block of each part after refinement.
type parts struct {
	*Machine
	live      []bool
	used      []bool
	call, ret int32 // numbers of the first call symbol and of the first return symbol
	block     []int32
	blocks    int
}

// edges returns labelled arcs and edges between the parts that represent the machine's tables. A
// state has arcs to the next state and to the symbol of each move, labelled by byte classes. A call
// symbol has an edge to a state, labelled by a return symbol. A return symbol has an edge to a
// state, labelled by a call symbol. The result partition is the initial partition into blocks. It
// distinguishes states by their level, by whether a text may end in them, and by the classes with
// which a text may go on. It separates states from symbols, and thus distinguishes the kinds of moves.
func (p *parts) edges() (arcs *algebra.Arcs, edges *algebra.Edges, partition []int32, blocks int) {
	returns := 0
	for _, row := range p.Resume {
		returns = max(returns, len(row))
	}
	p.used = append(slices.Clone(p.live), make([]bool, len(p.Resume)+returns)...)
	partition = make([]int32, len(p.used))
	arcs, edges = &algebra.Arcs{}, &algebra.Edges{}
	add := func(from, set, to int32) {
		arcs.Add(from, set, to)
		p.used[to] = true
	}
	shapes := p.Rows.Len()
	arcs.Grow(len(p.Rows.moves))
	sets := make([][]int32, shapes) // of the classes of each slot, by shape
	leading := slices.Repeat([]union{{number: -1}}, shapes)
	type kind struct {
		level, set int32
		ends       bool
	}
	kinds := map[kind]int32{}
	for q, live := range p.live {
		q := int32(q)
		if !live {
			continue
		}
		shape := p.Rows.rows[q].shape
		of := &sets[shape]
		if *of == nil {
			*of = p.sets(arcs, shape)
		}
		var slots algebra.Set // that lead on
		for k, a := range p.Rows.of(q) {
			if !p.leads(a, p.live) {
				continue
			}
			slots[k>>6] |= 1 << (k & 63)
			switch set := (*of)[k]; a.Kind {
			case Inside:
				add(q, set, a.To)
			case Call:
				add(q, set, a.To)
				add(q, set, p.call+a.Symbol)
			case Return:
				add(q, set, p.ret+a.Symbol)
			}
		}
		x := kind{p.Level[q], leading[shape].of(slots, *of, arcs), p.ends(q)}
		i, ok := kinds[x]
		if !ok {
			i = int32(len(kinds))
			kinds[x] = i
		}
		partition[q] = i
	}
	blocks = len(kinds) + 2
	for x := p.call; int(x) < len(partition); x++ {
		if partition[x] = int32(blocks - 2); x >= p.ret {
			partition[x]++
		}
	}
	for g, row := range p.Resume {
		for r, q := range row {
			x, y := p.call+int32(g), p.ret+int32(r)
			if q >= 0 && p.live[q] && p.used[x] && p.used[y] {
				edges.Add(x, int32(r), q)
				edges.Add(y, int32(returns+g), q)
			}
		}
	}
	return arcs, edges, partition, blocks
}

// union is a set of slots of a shape, and the number of the set of their classes.
type union struct {
	slots  algebra.Set
	number int32
}

// of returns the number of the set of the classes of slots, −1 if there are none. The argument sets holds
// those of each slot. The result for the slots of the last call is known.
func (u *union) of(slots algebra.Set, sets []int32, arcs *algebra.Arcs) int32 {
	if u.slots == slots {
		return u.number
	}
	u.slots, u.number = slots, -1
	for k, set := range sets {
		switch {
		case slots[k>>6]>>(k&63)&1 == 0:
		case u.number < 0:
			u.number = set
		default:
			u.number = arcs.Join(u.number, set)
		}
	}
	return u.number
}

// sets returns the numbers of the sets of classes that form the slots of a shape.
func (p *parts) sets(arcs *algebra.Arcs, shape int32) []int32 {
	of := make([]algebra.Set, p.Rows.Width(shape))
	for c, k := range p.Rows.Slots(shape) {
		of[k][c>>6] |= 1 << (c & 63)
	}
	numbers := make([]int32, len(of))
	for k, set := range of {
		numbers[k] = arcs.Set(set)
	}
	return numbers
}

// machine returns the machine whose states and symbols are the blocks, numbered in the order of
// their first members.
func (p *parts) machine(meter *poll.Meter) (*Machine, error) {
	number, first := make([]int32, p.blocks), []int32{} // of every block among those of its kind
	for i := range number {
		number[i] = -1
	}
	counts := [3]int32{}
	ends := [3]int32{p.call, p.ret, int32(len(p.block))}
	for kind, x := 0, int32(0); kind < 3; kind++ {
		for ; x < ends[kind]; x++ {
			if b := p.block[x]; p.used[x] && number[b] < 0 {
				number[b] = counts[kind]
				counts[kind]++
				first = append(first, x)
			}
		}
	}
	of := func(x int32) int32 { return number[p.block[x]] }
	to := &Machine{Levels: p.Levels, Start: of(p.Start)}
	states := first[:counts[0]]
	to.Level, to.Accept = make([]int32, len(states)), make([]bool, len(states))
	moves := 0
	for _, q := range states {
		moves += len(p.Rows.of(q))
	}
	rows, alike := NewRows(Shapes{}, len(states), moves), newColumns(p.Machine) // classes that no state distinguishes
	var row []Move
	var same Splitter[Move]
	slots := make([]uint8, p.Classes)
	shapes := slices.Repeat([]int32{-1}, p.Rows.Len()) // of the new rows, by shape, if no slots are alike
	for i, q := range states {
		row = p.led(row[:0], q)
		for k, a := range row {
			switch a.Kind {
			case Inside:
				row[k].To = of(a.To)
			case Call:
				row[k] = Move{Call, of(p.call + a.Symbol), of(a.To)}
			case Return:
				row[k].Symbol = of(p.ret + a.Symbol)
			}
		}
		slot, values := same.Split(row)
		was := p.Rows.rows[q].shape
		shape := shapes[was]
		if len(values) < len(row) || shape < 0 {
			for c, k := range p.Rows.Slots(was) {
				slots[c] = slot[k]
			}
			known := rows.Len()
			if shape = rows.Find(slots); int(shape) == known {
				alike.split(slots)
			}
			if len(values) == len(row) {
				shapes[was] = shape
			}
		}
		rows.Add(shape, values...)
		to.Level[i], to.Accept[i] = p.Level[q], p.ends(q)
		if meter.Done(p.Classes) {
			return nil, meter.Err()
		}
	}
	merged, some := alike.merged()
	for b, c := range p.Class {
		to.Class[b] = merged[c]
	}
	to.Classes, to.Rows = len(some), rows.with(some)
	for _, g := range first[counts[0] : counts[0]+counts[1]] {
		row := make([]int32, counts[2])
		for i, r := range first[counts[0]+counts[1]:] {
			row[i] = -1
			if all := p.Resume[g-p.call]; int(r-p.ret) < len(all) && all[r-p.ret] >= 0 && p.live[all[r-p.ret]] {
				row[i] = of(all[r-p.ret])
			}
		}
		to.Resume = append(to.Resume, row)
	}
	return to, nil
}

// columns divides the byte classes of a machine into those that have the same moves.
type columns struct {
	order []uint8 // classes of the machine, in the order of their first bytes
	part  []uint8 // partition of order, see refine
}

func newColumns(m *Machine) *columns {
	c := &columns{}
	var seen [256]bool
	for _, x := range m.Class {
		if !seen[x] {
			seen[x] = true
			c.order = append(c.order, x)
		}
	}
	c.part = make([]uint8, len(c.order))
	return c
}

// split divides the parts by the slots of a shape.
func (c *columns) split(slots []uint8) {
	refine(c.part, func(a, b uint8) bool { return slots[c.order[a]] == slots[c.order[b]] })
}

// merged returns the new class of each class, and the first class of each new class. New classes are in
// the order of their first bytes.
func (c *columns) merged() (of [256]uint8, some []uint8) {
	for i, x := range c.order {
		if a := c.part[i]; int(a) < i {
			of[x] = of[c.order[a]]
		} else {
			of[x] = uint8(len(some))
			some = append(some, x)
		}
	}
	return of, some
}

// living reports which states can be reached and lead to the end of a text or of their level.
// It takes time linear in the size of the tables.
func (m *Machine) living(meter *poll.Meter) ([]bool, error) {
	n, moves := len(m.Level), m.Rows.moves
	tail, head := make([]int32, len(moves)), make([]int32, len(moves)) // where moves come from and lead to, −1 if to no other state
	var calls, symbols []int32                                         // moves of kind Call and their symbols
	live, useful := make([]bool, n), make([]bool, len(m.Resume))
	list := make([]int32, 0, n)
	mark := func(q int32) {
		if !live[q] {
			live[q] = true
			list = append(list, q)
		}
	}
	if meter.Done(4 * len(moves)) {
		return nil, meter.Err()
	}
	i := 0
	for q := range int32(n) {
		for _, a := range m.Rows.of(q) {
			tail[i], head[i] = q, -1
			switch a.Kind {
			case Inside:
				if a.To != q {
					head[i] = a.To
				}
			case Call:
				head[i] = a.To
				calls, symbols = append(calls, int32(i)), append(symbols, a.Symbol)
			case Return:
				if len(m.Resume) > 0 { // otherwise nothing was called
					mark(q)
				}
			}
			i++
		}
		if m.ends(q) {
			mark(q)
		}
	}
	var after, resumed []int32 // symbols, and the states at which they resume
	for g, row := range m.Resume {
		if meter.Done(len(row)) {
			return nil, meter.Err()
		}
		for _, q := range row {
			if q >= 0 {
				after, resumed = append(after, int32(g)), append(resumed, q)
			}
		}
	}
	into, incoming := algebra.Group(head, n)
	callers, calling := algebra.Group(symbols, len(m.Resume))
	at, resuming := algebra.Group(resumed, n)
	for len(list) > 0 {
		q := list[len(list)-1]
		list = list[:len(list)-1]
		if meter.Done(1 + int(into[q+1]-into[q]+at[q+1]-at[q])) {
			return nil, meter.Err()
		}
		for _, a := range incoming[into[q]:into[q+1]] {
			if moves[a].Kind != Call || useful[moves[a].Symbol] {
				mark(tail[a])
			}
		}
		for _, x := range resuming[at[q]:at[q+1]] {
			g := after[x]
			if useful[g] {
				continue
			}
			useful[g] = true
			for _, k := range calling[callers[g]:callers[g+1]] {
				if a := calls[k]; live[head[a]] {
					mark(tail[a])
				}
			}
		}
	}
	reached, entered := make([]bool, n), make([]bool, len(m.Resume))
	list = append(list, m.Start)
	for len(list) > 0 {
		q := list[len(list)-1]
		list = list[:len(list)-1]
		if q < 0 || !live[q] || reached[q] {
			continue
		}
		reached[q] = true
		row := m.Rows.of(q)
		if meter.Done(len(row)) {
			return nil, meter.Err()
		}
		for _, a := range row {
			if a.Kind == Inside || a.Kind == Call {
				list = append(list, a.To)
			}
			if a.Kind == Call && !entered[a.Symbol] {
				entered[a.Symbol] = true
				list = append(list, m.Resume[a.Symbol]...)
			}
		}
	}
	return reached, nil
}

// ends reports whether a text may end in state q.
func (m *Machine) ends(q int32) bool { return m.Accept[q] && m.Level[q] == m.Level[m.Start] }

// led appends to row the moves of the slots of state q. Those that do not lead on are dead.
func (p *parts) led(row []Move, q int32) []Move {
	for _, a := range p.Rows.of(q) {
		if !p.leads(a, p.live) {
			a = Move{}
		}
		row = append(row, a)
	}
	return row
}

// leads reports whether move a leads to a live state or leaves its level.
func (m *Machine) leads(a Move, live []bool) bool {
	switch a.Kind {
	case Inside:
		return live[a.To]
	case Call:
		return live[a.To] && slices.ContainsFunc(m.Resume[a.Symbol], func(q int32) bool { return q >= 0 && live[q] })
	}
	return a.Kind == Return && len(m.Resume) > 0
}

package pushdown

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Minimal returns a machine for the same language, or nil if the language is empty. It removes
// states that are unreachable or that lead neither to the end of a text nor to a return from their
// level. It merges equivalent states of a level, equivalent call symbols and equivalent return
// symbols. The machine m must have passed [Machine.Check]. Minimal takes time O(n log n) for a
// machine whose tables have n entries. The only error is the cause of the context's end.
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
	edges, first := p.edges()
	if p.block, p.blocks, err = edges.Refine(ctx, first, 2*m.Levels+2); err != nil {
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

// edges returns labelled edges between the parts that represent the machine's tables. A state has
// edges to the next state and to the symbol of each move, labelled by byte class and kind. A call
// symbol has an edge to a state, labelled by a return symbol. A return symbol has an edge to a
// state, labelled by a call symbol. The result first is the initial partition. It distinguishes
// states by their level and by whether a text may end in them, and separates states from symbols.
func (p *parts) edges() (edges algebra.Edges, first []int32) {
	returns := 0
	for _, row := range p.Resume {
		returns = max(returns, len(row))
	}
	p.used = append(slices.Clone(p.live), make([]bool, len(p.Resume)+returns)...)
	first = make([]int32, len(p.used))
	add := func(from, label, to int32) {
		edges.Add(from, label, to)
		p.used[to] = true
	}
	const ways = 4 // inside, call, its symbol, return
	for q, live := range p.live {
		q := int32(q)
		if first[q] = 2 * p.Level[q]; p.ends(q) {
			first[q]++
		}
		if !live {
			continue
		}
		for c, a := range p.row(q) {
			label := ways * int32(c)
			switch {
			case !p.leads(a, p.live):
			case a.Kind == Inside:
				add(q, label, a.To)
			case a.Kind == Call:
				add(q, label+1, a.To)
				add(q, label+2, p.call+a.Symbol)
			case a.Kind == Return:
				add(q, label+3, p.ret+a.Symbol)
			}
		}
	}
	for x := p.call; int(x) < len(first); x++ {
		if first[x] = 2 * int32(p.Levels); x >= p.ret {
			first[x]++
		}
	}
	for g, row := range p.Resume {
		for r, q := range row {
			x, y := p.call+int32(g), p.ret+int32(r)
			if q >= 0 && p.live[q] && p.used[x] && p.used[y] {
				label := ways * int32(p.Classes)
				edges.Add(x, label+int32(r), q)
				edges.Add(y, label+int32(returns+g), q)
			}
		}
	}
	return edges, first
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
	move := func(a Move) Move {
		switch {
		case !p.leads(a, p.live):
			return Move{}
		case a.Kind == Inside:
			return Move{Inside, 0, of(a.To)}
		case a.Kind == Call:
			return Move{Call, of(p.call + a.Symbol), of(a.To)}
		}
		return Move{Return, of(p.ret + a.Symbol), 0}
	}
	to := &Machine{Levels: p.Levels, Start: of(p.Start)}
	states := first[:counts[0]]
	columns := map[string]uint8{}
	var rep []int
	var joint [256]int // for each class of bytes of the original machine, 1 + its class, 0 if not known
	for b := range 256 {
		if c := joint[p.Class[b]]; c > 0 {
			to.Class[b] = uint8(c - 1)
			continue
		}
		if meter.Done(16 * len(states)) {
			return nil, meter.Err()
		}
		c := int(p.Class[b])
		k := []byte{}
		for _, q := range states {
			a := move(p.row(q)[c])
			k = append(k, byte(a.Kind))
			k = binary.LittleEndian.AppendUint32(k, uint32(a.Symbol))
			k = binary.LittleEndian.AppendUint32(k, uint32(a.To))
		}
		i, ok := columns[string(k)]
		if !ok {
			i = uint8(len(rep))
			columns[string(k)] = i
			rep = append(rep, c)
		}
		to.Class[b] = i
		joint[c] = 1 + int(i)
	}
	to.Classes = len(rep)
	for _, q := range states {
		to.Level, to.Accept = append(to.Level, p.Level[q]), append(to.Accept, p.ends(q))
		for _, c := range rep {
			to.Moves = append(to.Moves, move(p.row(q)[c]))
		}
	}
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

// living reports which states can be reached and lead to the end of a text or of their level.
// It takes time linear in the size of the tables.
func (m *Machine) living(meter *poll.Meter) ([]bool, error) {
	n := len(m.Level)
	into, callers := make([][]int32, n), make([][]int32, len(m.Resume)) // moves, by where they lead and by symbol
	after := make([][]int32, n)                                         // symbols that resume at a state
	live, useful := make([]bool, n), make([]bool, len(m.Resume))
	var list []int32
	mark := func(q int32) {
		if !live[q] {
			live[q] = true
			list = append(list, q)
		}
	}
	of := func(move int32) int32 { return move / int32(m.Classes) }
	for g, row := range m.Resume {
		if meter.Done(len(row)) {
			return nil, meter.Err()
		}
		for _, q := range row {
			if q >= 0 {
				after[q] = append(after[q], int32(g))
			}
		}
	}
	for i, a := range m.Moves {
		if meter.Done(1) {
			return nil, meter.Err()
		}
		switch a.Kind {
		case Inside:
			into[a.To] = append(into[a.To], int32(i))
		case Call:
			into[a.To], callers[a.Symbol] = append(into[a.To], int32(i)), append(callers[a.Symbol], int32(i))
		case Return:
			mark(of(int32(i)))
		}
	}
	for q := range int32(n) {
		if m.ends(q) {
			mark(q)
		}
	}
	for len(list) > 0 {
		q := list[len(list)-1]
		list = list[:len(list)-1]
		if meter.Done(1 + len(into[q]) + len(after[q])) {
			return nil, meter.Err()
		}
		for _, i := range into[q] {
			if a := m.Moves[i]; a.Kind == Inside || useful[a.Symbol] {
				mark(of(i))
			}
		}
		for _, g := range after[q] {
			if useful[g] {
				continue
			}
			useful[g] = true
			for _, i := range callers[g] {
				if live[m.Moves[i].To] {
					mark(of(i))
				}
			}
		}
	}
	reached, resumed := make([]bool, n), make([]bool, len(m.Resume))
	list = append(list, m.Start)
	for len(list) > 0 {
		q := list[len(list)-1]
		list = list[:len(list)-1]
		if q < 0 || !live[q] || reached[q] {
			continue
		}
		reached[q] = true
		if meter.Done(m.Classes) {
			return nil, meter.Err()
		}
		for _, a := range m.row(q) {
			if a.Kind == Inside || a.Kind == Call {
				list = append(list, a.To)
			}
			if a.Kind == Call && !resumed[a.Symbol] {
				resumed[a.Symbol] = true
				list = append(list, m.Resume[a.Symbol]...)
			}
		}
	}
	return reached, nil
}

// ends reports whether a text may end in state q.
func (m *Machine) ends(q int32) bool { return m.Accept[q] && m.Level[q] == m.Level[m.Start] }

func (m *Machine) row(q int32) []Move { return m.Moves[int(q)*m.Classes : int(q+1)*m.Classes] }

// leads reports whether move a leads to a live state or leaves its level.
func (m *Machine) leads(a Move, live []bool) bool {
	switch a.Kind {
	case Inside:
		return live[a.To]
	case Call:
		return live[a.To] && slices.ContainsFunc(m.Resume[a.Symbol], func(q int32) bool { return q >= 0 && live[q] })
	}
	return a.Kind == Return
}

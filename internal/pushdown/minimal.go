package pushdown

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Minimal returns a machine for the same language, or nil if the language is empty. It removes
// unreachable states and those that lead neither to the end of a text nor to a return from their
// level. It merges equivalent states of a level, call symbols and return symbols. The machine m
// must have passed [Machine.Check]. Minimal takes time O(n log n) for a machine whose tables have n
// entries. The only error is the cause of ctx.
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
	moves := 0
	for q, live := range p.live {
		if live {
			for _, a := range p.row(int32(q)) {
				moves += int(edgesOf[a.Kind])
			}
		}
	}
	edges.Grow(moves)
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

// edgesOf is the number of edges for a move, by its kind.
var edgesOf = [...]uint8{Dead: 0, Inside: 1, Call: 2, Return: 1}

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
	convert := func(a Move) Move {
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
	last, result := Move{}, Move{} // neighbours in a row are often alike
	move := func(a Move) Move {
		if a != last {
			last, result = a, convert(a)
		}
		return result
	}
	to := &Machine{Levels: p.Levels, Start: of(p.Start)}
	states := first[:counts[0]]
	merged := newColumns(p.Machine) // classes that no state tells apart
	row := make([]Move, p.Classes)
	for _, q := range states {
		if meter.Done(2 * p.Classes) {
			return nil, meter.Err()
		}
		for c, a := range p.row(q) {
			row[c] = move(a)
		}
		merged.split(row)
	}
	for b, c := range p.Class {
		to.Class[b] = merged.of[c]
	}
	to.Classes = len(merged.some)
	to.Level, to.Accept = make([]int32, len(states)), make([]bool, len(states))
	to.Moves = make([]Move, len(states)*to.Classes)
	for i, q := range states {
		to.Level[i], to.Accept[i] = p.Level[q], p.ends(q)
		from, row := p.row(q), to.row(int32(i))
		for k, c := range merged.some {
			row[k] = move(from[c])
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

// columns divides the byte classes of a machine into those that have the same moves. Its classes are
// in the order of their first bytes.
type columns struct {
	order []uint8    // classes of the machine, in the order of their first bytes
	of    [256]uint8 // class of each class of the machine
	some  []uint8    // first of each class
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
	c.some = []uint8{c.order[0]}
	return c
}

// split divides every class by the moves in a row of a state.
func (c *columns) split(row []Move) {
	whole := true
	for _, x := range c.order {
		if row[x] != row[c.some[c.of[x]]] {
			whole = false
			break
		}
	}
	if whole {
		return
	}
	var of [256]uint8
	var parts [256][]uint8 // by the class before, the first of each new class within it
	some := make([]uint8, 0, len(c.some)+4)
next:
	for _, x := range c.order {
		was := c.of[x]
		for _, y := range parts[was] {
			if row[x] == row[y] {
				of[x] = of[y]
				continue next
			}
		}
		of[x] = uint8(len(some))
		parts[was] = append(parts[was], x)
		some = append(some, x)
	}
	c.of, c.some = of, some
}

// source is a move inside a level, from one of its states, or a call by a state that pushes a symbol
// and enters the state to. The symbol of a move inside is −1.
type source struct{ from, symbol, to int32 }

// living reports which states can be reached and lead to the end of a text or of their level.
// It takes time linear in the size of the tables.
func (m *Machine) living(meter *poll.Meter) ([]bool, error) {
	n := len(m.Level)
	// Moves, by where they lead and by symbol. Of neighbours in a row that are alike, one is enough.
	into, callers := make([][]source, n), make([][]source, len(m.Resume))
	after := make([][]int32, n) // symbols that resume at a state
	live, useful := make([]bool, n), make([]bool, len(m.Resume))
	var list []int32
	mark := func(q int32) {
		if !live[q] {
			live[q] = true
			list = append(list, q)
		}
	}
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
	for q := range int32(n) {
		if meter.Done(m.Classes) {
			return nil, meter.Err()
		}
		last := Move{}
		for _, a := range m.row(q) {
			if a == last {
				continue
			}
			switch last = a; a.Kind {
			case Inside:
				if a.To != q {
					into[a.To] = append(into[a.To], source{q, -1, 0})
				}
			case Call:
				x := source{q, a.Symbol, a.To}
				into[a.To], callers[a.Symbol] = append(into[a.To], x), append(callers[a.Symbol], x)
			case Return:
				mark(q)
			}
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
		for _, x := range into[q] {
			if x.symbol < 0 || useful[x.symbol] {
				mark(x.from)
			}
		}
		for _, g := range after[q] {
			if useful[g] {
				continue
			}
			useful[g] = true
			for _, x := range callers[g] {
				if live[x.to] {
					mark(x.from)
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
		last := Move{}
		for _, a := range m.row(q) {
			if a == last {
				continue
			}
			if last = a; a.Kind == Inside || a.Kind == Call {
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

package pushdown

import (
	"encoding/binary"
	"slices"
)

// partition divides the states, the symbols of calls and those of returns of a
// machine, numbered in this order, into blocks of those that do the same as far
// as is known.
type partition struct {
	m         *Machine
	live      []bool
	call, ret int32   // the numbers of the first symbols
	block     []int32 // of each number, −1 if it is not in use
	list, at  []int32 // all numbers by block, and where each of them stands
	blocks    []segment
	users     [][]int32    // of each number: those whose signature shows its block
	resume    [][][2]int32 // of each symbol: the other symbol, and the state
	todo      []int32      // blocks with changed members
	key       []byte
}

// segment is list[from:to], of which the first members may have changed what
// they do; the others do the same.
type segment struct{ from, changed, to int32 }

func newPartition(m *Machine, live []bool) *partition {
	returns := 0
	for _, row := range m.Resume {
		returns = max(returns, len(row))
	}
	n := int32(len(m.Level))
	p := &partition{m: m, live: live, call: n, ret: n + int32(len(m.Resume))}
	all := int(p.ret) + returns
	p.block, p.at, p.users, p.resume = make([]int32, all), make([]int32, all), make([][]int32, all), make([][][2]int32, all)
	for x := range p.block {
		p.block[x] = -1
	}
	use := func(what, by int32) {
		if u := p.users[what]; len(u) == 0 || u[len(u)-1] != by {
			p.users[what] = append(u, by)
		}
	}
	used := make([]bool, all)
	for q := range n {
		if !live[q] {
			continue
		}
		used[q] = true
		for _, a := range m.row(q) {
			if !m.leads(a, live) {
				continue
			}
			switch a.Kind {
			case Inside:
				use(a.To, q)
			case Call:
				use(a.To, q)
				use(p.call+a.Symbol, q)
				used[p.call+a.Symbol] = true
			case Return:
				use(p.ret+a.Symbol, q)
				used[p.ret+a.Symbol] = true
			}
		}
	}
	for g, row := range m.Resume {
		for r, q := range row {
			x, y := p.call+int32(g), p.ret+int32(r)
			if q < 0 || !live[q] || !used[x] || !used[y] {
				continue
			}
			use(q, x)
			use(q, y)
			p.resume[x] = append(p.resume[x], [2]int32{int32(r), q})
			p.resume[y] = append(p.resume[y], [2]int32{int32(g), q})
		}
	}
	p.begin(used)
	return p
}

// begin tells states apart by their level and by their end.
func (p *partition) begin(used []bool) {
	number := map[[3]int32]int{}
	var members [][]int32
	for x := range int32(len(used)) {
		if !used[x] {
			continue
		}
		k := [3]int32{1, 0, 0}
		switch {
		case x >= p.ret:
			k[0] = 2
		case x < p.call:
			k = [3]int32{0, p.m.Level[x], 0}
			if p.m.ends(x) {
				k[2] = 1
			}
		}
		i, ok := number[k]
		if !ok {
			i = len(members)
			number[k] = i
			members = append(members, nil)
		}
		members[i] = append(members[i], x)
	}
	for i, l := range members {
		from := int32(len(p.list))
		p.list = append(p.list, l...)
		to := int32(len(p.list))
		p.blocks, p.todo = append(p.blocks, segment{from, to, to}), append(p.todo, int32(i))
		p.number(int32(i))
	}
}

// number tells the members of a block where they are.
func (p *partition) number(b int32) {
	for i := p.blocks[b].from; i < p.blocks[b].to; i++ {
		p.block[p.list[i]], p.at[p.list[i]] = b, i
	}
}

// mark says that x may do something else than before.
func (p *partition) mark(x int32) {
	b := p.block[x]
	if b < 0 || p.at[x] < p.blocks[b].changed {
		return
	}
	s := &p.blocks[b]
	if s.changed == s.from {
		p.todo = append(p.todo, b)
	}
	i, j := s.changed, p.at[x]
	p.list[i], p.list[j] = p.list[j], p.list[i]
	p.at[p.list[i]], p.at[p.list[j]] = i, j
	s.changed++
}

// divide splits a block by what its members do. The greatest part keeps the
// number of the block, so that each member moves, and lets others change,
// O(log n) times.
func (p *partition) divide() {
	b := p.todo[len(p.todo)-1]
	p.todo = p.todo[:len(p.todo)-1]
	s := p.blocks[b]
	p.blocks[b].changed = s.from
	number := map[string]int{}
	var parts [][]int32
	part := func(x int32) int {
		p.key = p.appendSignature(p.key[:0], x)
		i, ok := number[string(p.key)]
		if !ok {
			i = len(parts)
			number[string(p.key)] = i
			parts = append(parts, nil)
		}
		return i
	}
	if s.changed < s.to {
		part(p.list[s.changed]) // part 0 does what those do that have not changed
	}
	for _, x := range p.list[s.from:s.changed] {
		i := part(x)
		parts[i] = append(parts[i], x)
	}
	if len(parts) == 1 {
		return
	}
	// Part 0 goes last, next to those that have not changed.
	end, most := s.changed, 0
	segments := make([]segment, len(parts))
	for i, l := range parts {
		begin := end - int32(len(l))
		copy(p.list[begin:end], l)
		segments[i] = segment{begin, begin, end}
		if i == 0 {
			segments[i].to = s.to
		}
		end = begin
		if segments[i].to-segments[i].from > segments[most].to-segments[most].from {
			most = i
		}
	}
	moved := make([]int32, 0, len(parts))
	for i, x := range segments {
		to := b
		if i != most {
			to = int32(len(p.blocks))
			p.blocks = append(p.blocks, x)
			moved = append(moved, to)
		}
		p.blocks[to] = x
	}
	for i := s.from; i < s.changed; i++ {
		p.at[p.list[i]] = i
	}
	for _, to := range moved {
		p.number(to)
	}
	for _, to := range moved {
		for _, x := range slices.Clone(p.list[p.blocks[to].from:p.blocks[to].to]) {
			for _, u := range p.users[x] {
				p.mark(u)
			}
		}
	}
}

// appendSignature appends what a member does, in terms of blocks.
func (p *partition) appendSignature(k []byte, x int32) []byte {
	if x < p.call {
		for _, a := range p.m.row(x) {
			k = p.appendMove(k, a)
		}
		return k
	}
	for _, r := range p.resume[x] {
		k = binary.LittleEndian.AppendUint32(k, uint32(r[0]))
		k = binary.LittleEndian.AppendUint32(k, uint32(p.block[r[1]]))
	}
	return k
}

func (p *partition) appendMove(k []byte, a Move) []byte {
	if !p.m.leads(a, p.live) {
		return append(k, byte(Dead))
	}
	k = append(k, byte(a.Kind))
	switch a.Kind {
	case Inside:
		k = binary.LittleEndian.AppendUint32(k, uint32(p.block[a.To]))
	case Call:
		k = binary.LittleEndian.AppendUint32(k, uint32(p.block[p.call+a.Symbol]))
		k = binary.LittleEndian.AppendUint32(k, uint32(p.block[a.To]))
	case Return:
		k = binary.LittleEndian.AppendUint32(k, uint32(p.block[p.ret+a.Symbol]))
	}
	return k
}

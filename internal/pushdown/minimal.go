package pushdown

// Minimal returns a machine for the same language without states that are not
// reached, or from which no run comes to an end, and in which no two states of a
// level, symbols of calls or symbols of returns do the same. m has passed
// [Machine.Check]. It takes O(n log n) for n entries of its tables.
func (m *Machine) Minimal() *Machine {
	p := newPartition(m, m.living())
	if p.block[m.Start] < 0 {
		return m // the language is empty
	}
	for len(p.todo) > 0 {
		p.divide()
	}
	return p.machine()
}

// machine writes the blocks as tables, in the order of their first members.
func (p *partition) machine() *Machine {
	m := p.m
	number, first := make([]int32, len(p.blocks)), []int32{} // of every block among those of its kind
	for i := range number {
		number[i] = -1
	}
	counts := [3]int32{}
	ends := [3]int32{p.call, p.ret, int32(len(p.block))}
	for kind, x := 0, int32(0); kind < 3; kind++ {
		for ; x < ends[kind]; x++ {
			if b := p.block[x]; b >= 0 && number[b] < 0 {
				number[b] = counts[kind]
				counts[kind]++
				first = append(first, x)
			}
		}
	}
	of := func(x int32) int32 { return number[p.block[x]] }
	to := &Machine{Levels: m.Levels, Start: of(m.Start)}
	states := first[:counts[0]]
	columns := map[string]uint8{}
	var rep []int
	for b := range 256 {
		c := int(m.Class[b])
		k := []byte{}
		for _, q := range states {
			k = p.appendMove(k, m.row(q)[c])
		}
		i, ok := columns[string(k)]
		if !ok {
			i = uint8(len(rep))
			columns[string(k)] = i
			rep = append(rep, c)
		}
		to.Class[b] = i
	}
	to.Classes = len(rep)
	for _, q := range states {
		to.Level, to.Accept = append(to.Level, m.Level[q]), append(to.Accept, m.ends(q))
		for _, c := range rep {
			a := m.row(q)[c]
			switch {
			case !m.leads(a, p.live):
				a = Move{}
			case a.Kind == Inside:
				a.To = of(a.To)
			case a.Kind == Call:
				a.Symbol, a.To = of(p.call+a.Symbol), of(a.To)
			case a.Kind == Return:
				a.Symbol, a.To = of(p.ret+a.Symbol), 0
			}
			to.Moves = append(to.Moves, a)
		}
	}
	for _, g := range first[counts[0] : counts[0]+counts[1]] {
		row := make([]int32, counts[2])
		for i, r := range first[counts[0]+counts[1]:] {
			row[i] = -1
			if all := m.Resume[g-p.call]; int(r-p.ret) < len(all) && all[r-p.ret] >= 0 && p.live[all[r-p.ret]] {
				row[i] = of(all[r-p.ret])
			}
		}
		to.Resume = append(to.Resume, row)
	}
	return to
}

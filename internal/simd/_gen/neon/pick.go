package neon

func pick(f *file) {
	f.function("pickRow", func(k *function) {
		p, n := k.param("p"), k.param("n")
		s := k.picker()
		k.emit("FMOVD %s, F%d", k.fp("target"), s.target)
		k.emit("FMOVD %s, F%d", k.fp("before"), s.before)
		k.pick(s, p, n)
		k.emit("MOVD %v, %s", s.i, k.fp("ret"))
	})
	f.function("pickRows", func(k *function) {
		idx, p, totals, us := k.param("idx"), k.param("p"), k.param("total"), k.param("u")
		rows, cols := k.param("rows"), k.param("cols")
		s := k.picker()
		k.at("row")
		k.emit("FMOVD (%v), F%d", totals, s.target)
		k.emit("FMOVD ZR, F%d", s.before)
		k.emit("MOVD $-1, %v", s.i)
		k.emit("FCMPD F%d, F%d", s.before, s.target)
		k.emit("BLE next") // if total ≤ 0
		k.emit("BVS next") // or if total is NaN
		k.emit("FMOVD (%v), F%d", us, s.next)
		k.emit("FMULD F%d, F%d, F%d", s.next, s.target, s.target)
		k.pick(s, p, cols)
		k.at("next")
		k.emit("MOVW %v, (%v)", s.i, idx)
		k.emit("ADD %v<<2, %v, %v", cols, p, p)
		k.emit("ADD $4, %v, %v", idx, idx)
		k.emit("ADD $8, %v, %v", totals, totals)
		k.emit("ADD $8, %v, %v", us, us)
		k.emit("SUBS $1, %v, %v", rows, rows)
		k.emit("BNE row")
	})
}

// picker holds the registers of a search within a row.
type picker struct {
	i, end, at, rest, turns, left x
	target, before, next          v
	acc, in                       []v
	zero                          v
}

func (k *function) picker() *picker {
	s := &picker{i: k.x(), end: k.x(), at: k.x(), rest: k.x(), turns: k.x(), left: k.x()}
	s.target, s.before, s.next, s.zero = k.v(), k.v(), k.v(), k.v()
	s.acc, s.in = k.vs(8), k.vs(12)
	k.zero(s.zero)
	return s
}

// pick searches blocks of 128, then groups of 16, then single weights, and leaves the index in i.
func (k *function) pick(s *picker, p, n x) {
	block, loop, end, done := k.label("block"), k.label("loop"), k.label("end"), k.label("done")
	inBlock, group, whole, summed, inGroup := k.label("inBlock"), k.label("group"), k.label("whole"), k.label("summed"), k.label("inGroup")
	single, found, none := k.label("single"), k.label("found"), k.label("none")

	clear := func() {
		for _, a := range s.acc {
			k.zero(a)
		}
	}
	add := func(j int) { // adds quad j of a turn
		lo, hi := s.in[4+2*j], s.in[5+2*j]
		k.op("fcvtl", lo, s.in[j])
		k.op("fcvtl2", hi, s.in[j])
		k.op("fadd.2d", s.acc[2*j], s.acc[2*j], lo)
		k.op("fadd.2d", s.acc[2*j+1], s.acc[2*j+1], hi)
	}
	turn := func() {
		k.ldpNext(s.in[0], s.in[1], s.at)
		k.ldpNext(s.in[2], s.in[3], s.at)
		for j := range 4 {
			add(j)
		}
	}
	// cross adds the lanes to before and jumps if that exceeds target.
	cross := func(to string) {
		k.addLanes(s.acc)
		k.emit("FADDD F%d, F%d, F%d", s.acc[0], s.before, s.next)
		k.emit("FCMPD F%d, F%d", s.target, s.next)
		k.emit("BGT %s", to)
		k.emit("FMOVD F%d, F%d", s.next, s.before)
	}
	partial := func(done string) { // handles the rest of fewer than 16 entries; the flags are set
		k.tail(s.at, s.rest, done, func(j int, p x) { k.ldr(s.in[j], p, 0); add(j) },
			func(j int, p x) { k.loadPart(s.in[j], p, s.rest, s.zero); add(j) })
	}

	k.emit("MOVD $0, %v", s.i)
	k.emit("MOVD %v, %v", p, s.at)
	k.at(block)
	clear()
	k.emit("SUB %v, %v, %v", s.i, n, s.rest)
	k.emit("LSR $4, %v, %v", s.rest, s.turns)
	k.emit("CMP $8, %v", s.turns)
	k.emit("MOVD $8, %v", s.left)
	k.emit("CSEL LT, %v, %v, %v", s.turns, s.left, s.turns)
	k.emit("SUB %v<<4, %v, %v", s.turns, s.rest, s.rest)
	k.emit("SUB %v, %v, %v", s.turns, s.left, s.left)
	k.emit("CBZ %v, %s", s.turns, end)
	k.at(loop)
	turn()
	k.emit("SUBS $1, %v, %v", s.turns, s.turns)
	k.emit("BNE %s", loop)
	k.at(end)
	k.emit("CBZ %v, %s", s.left, done)
	k.emit("CMP $0, %v", s.rest)
	partial(done)
	k.at(done)
	cross(inBlock)
	k.emit("ADD $128, %v, %v", s.i, s.i)
	k.emit("CMP %v, %v", n, s.i)
	k.emit("BLT %s", block)
	k.emit("B %s", none)

	// Search the groups of the block at i, which ends at end.
	k.at(inBlock)
	k.emit("FSUBD F%d, F%d, F%d", s.before, s.target, s.target)
	k.emit("FMOVD ZR, F%d", s.before)
	k.emit("ADD $128, %v, %v", s.i, s.end)
	k.emit("CMP %v, %v", n, s.end)
	k.emit("CSEL GT, %v, %v, %v", n, s.end, s.end)
	k.emit("ADD %v<<2, %v, %v", s.i, p, s.at)
	k.at(group)
	clear()
	k.emit("SUB %v, %v, %v", s.i, s.end, s.rest)
	k.emit("CMP $16, %v", s.rest)
	k.emit("BGE %s", whole)
	k.emit("CMP $0, %v", s.rest)
	partial(summed)
	k.emit("B %s", summed)
	k.at(whole)
	turn()
	k.at(summed)
	cross(inGroup)
	k.emit("ADD $16, %v, %v", s.i, s.i)
	k.emit("CMP %v, %v", s.end, s.i)
	k.emit("BLT %s", group)
	k.emit("B %s", none)

	// Search the weights of the group at i.
	k.at(inGroup)
	k.emit("FSUBD F%d, F%d, F%d", s.before, s.target, s.target)
	k.emit("FMOVD ZR, F%d", s.before)
	k.emit("ADD %v<<2, %v, %v", s.i, p, s.at)
	k.emit("ADD $16, %v, %v", s.i, s.rest)
	k.emit("CMP %v, %v", s.end, s.rest)
	k.emit("CSEL LT, %v, %v, %v", s.rest, s.end, s.end)
	k.at(single)
	k.emit("FMOVS.P 4(%v), F%d", s.at, s.next)
	k.emit("FCVTSD F%d, F%d", s.next, s.next)
	k.emit("FADDD F%d, F%d, F%d", s.next, s.before, s.before)
	k.emit("FCMPD F%d, F%d", s.target, s.before)
	k.emit("BGT %s", found)
	k.emit("ADD $1, %v, %v", s.i, s.i)
	k.emit("CMP %v, %v", s.end, s.i)
	k.emit("BLT %s", single)
	k.at(none)
	k.emit("MOVD $-2, %v", s.i)
	k.at(found)
}

package neon

// rows writes the kernels over rows of log-weights: two for short rows, many rows in a call, and
// two for segments of long rows.
func rows(f *file) {
	f.function("maxSegment", func(k *function) {
		w, n := k.param("w"), k.param("n")
		m := k.v()
		k.maximum(m, w, n, k.constants("least", negativeInf)[0], k.vs(12))
		k.emit("FMOVS F%d, %s", m, k.fp("ret"))
	})
	for _, floored := range []bool{false, true} {
		name := "weights"
		if floored {
			name = "floored"
		}
		f.function(name+"Segment", func(k *function) {
			s := k.weightState(floored)
			p, w, n, total := k.param("p"), k.param("w"), k.param("n"), k.param("total")
			k.emit("FMOVS %s, F%d", k.fp("m"), s.m)
			k.op("dup.s0", s.m, s.m)
			k.weights(s, p, w, n, func() {
				k.emit("FMOVD (%v), F%d", total, s.quads[1][0])
				k.emit("FADDD F%d, F%d, F%d", s.acc[0], s.quads[1][0], s.quads[1][0])
				k.emit("FMOVD F%d, (%v)", s.quads[1][0], total)
			})
		})
		f.function(name+"Rows", func(k *function) {
			s := k.weightState(floored)
			p, w, cols := k.param("p"), k.param("w"), k.param("cols")
			maxes, totals, rows := k.param("max"), k.param("total"), k.param("rows")
			n, from, zero := k.x(), k.x(), s.quads[0][0]
			k.at("row")
			k.emit("MOVD %v, %v", w, from)
			k.emit("MOVD %v, %v", cols, n)
			k.maximum(s.m, from, n, s.least, append(append([]v{}, s.acc...), s.quads[0][:4]...))
			k.op("dup.s0", s.m, s.m)
			k.op("cmeq.4s", s.acc[0], s.m, s.least)
			k.zero(zero)
			k.op("fadd.4s", s.m, s.m, zero)
			k.op("bic", s.m, s.m, s.acc[0])
			k.emit("FMOVS F%d, (%v)", s.m, maxes)
			k.emit("ADD $4, %v, %v", maxes, maxes)
			k.emit("MOVD ZR, (%v)", totals)
			k.emit("MOVD %v, %v", cols, n)
			k.weights(s, p, w, n, func() {
				k.emit("FMOVD (%v), F%d", totals, s.quads[1][0])
				k.emit("FADDD F%d, F%d, F%d", s.acc[0], s.quads[1][0], s.quads[1][0])
				k.emit("FMOVD F%d, (%v)", s.quads[1][0], totals)
			})
			k.emit("ADD $8, %v, %v", totals, totals)
			k.emit("SUBS $1, %v, %v", rows, rows)
			k.emit("BNE row")
		})
	}
	f.function("scaleRows", scaleRows)
	f.function("shiftRow", func(k *function) {
		dst, w, n := k.param("dst"), k.param("w"), k.param("n")
		m, l := k.splat("m"), k.splat("l")
		k.stream(n, []x{w}, dst, [][]v{k.vs(1), k.vs(1), k.vs(1), k.vs(1)}, func(quads [][]v) {
			k.each(quads, "fsub.4s", func(q []v) []v { return []v{q[0], q[0], m} })
			k.each(quads, "fsub.4s", func(q []v) []v { return []v{q[0], q[0], l} })
		})
	})
}

func scaleRows(k *function) {
	dst, p, total, rows, cols := k.param("dst"), k.param("p"), k.param("total"), k.param("rows"), k.param("cols")
	n, g := k.x(), k.x()
	low, by, one, tiny := k.v(), k.v(), k.v(), k.v()
	k.emit("FMOVD $1.0, F%d", one)
	k.emit("MOVD $0x3820000000000000, %v", g) // 2⁻¹²⁵
	k.emit("FMOVD %v, F%d", g, tiny)
	quads := [][]v{k.vs(2), k.vs(2), k.vs(2), k.vs(2)}
	k.at("row")
	k.emit("FMOVD (%v), F%d", total, low)
	k.emit("FDIVD F%d, F%d, F%d", low, one, by)
	k.emit("FMULD F%d, F%d, F%d", tiny, low, low)
	k.emit("FCVTDS F%d, F%d", by, by)
	k.emit("FCVTDS F%d, F%d", low, low)
	k.op("dup.s0", by, by)
	k.op("dup.s0", low, low)
	k.emit("MOVD %v, %v", cols, n)
	k.stream(n, []x{p}, dst, quads, func(quads [][]v) {
		k.each(quads, "fcmgt.4s", func(q []v) []v { return []v{q[1], low, q[0]} })
		k.each(quads, "fmul.4s", func(q []v) []v { return []v{q[0], q[0], by} })
		k.each(quads, "bic", func(q []v) []v { return []v{q[0], q[0], q[1]} })
	})
	k.emit("ADD $8, %v, %v", total, total)
	k.emit("SUBS $1, %v, %v", rows, rows)
	k.emit("BNE row")
}

// maximum stores the maximum of n ≥ 1 entries, ignoring NaNs, in the first lane of m. It compares
// entries, because the instruction for a maximum would return a signalling NaN. It destroys w, n
// and the twelve registers in spare.
func (k *function) maximum(m v, w, n x, least v, spare []v) {
	acc, above, in := spare[:4], spare[4:8], spare[8:12]
	loop, rest, done := k.label("max"), k.label("maxRest"), k.label("maxDone")
	for _, a := range acc {
		k.copy(a, least)
	}
	take := func(j int) {
		k.op("fcmgt.4s", above[j], in[j], acc[j])
		k.op("bit", acc[j], in[j], above[j])
	}
	k.emit("SUBS $16, %v, %v", n, n)
	k.emit("BLT %s", rest)
	k.at(loop)
	k.ldpNext(in[0], in[1], w)
	k.ldpNext(in[2], in[3], w)
	for j := range acc {
		k.op("fcmgt.4s", above[j], in[j], acc[j])
	}
	for j := range acc {
		k.op("bit", acc[j], in[j], above[j])
	}
	k.emit("SUBS $16, %v, %v", n, n)
	k.emit("BGE %s", loop)
	k.at(rest)
	k.emit("ADDS $16, %v, %v", n, n)
	k.tail(w, n, done, func(j int, p x) { k.ldr(in[j], p, 0); take(j) },
		func(j int, p x) { k.loadPart(in[j], p, n, least); take(j) })
	k.at(done)
	k.op("fmax.4s", acc[0], acc[0], acc[1])
	k.op("fmax.4s", acc[2], acc[2], acc[3])
	k.op("fmax.4s", acc[0], acc[0], acc[2])
	k.op("fmaxv.s", m, acc[0])
}

// tail processes the remaining n < 16 entries at p: whole quads by quad, and then a rest of fewer
// than four entries by part. The processor flags must be those of n.
func (k *function) tail(p, n x, done string, quad, part func(j int, p x)) {
	for j := range 4 {
		some := k.label("some")
		k.emit("BEQ %s", done)
		k.emit("SUBS $4, %v, %v", n, n)
		k.emit("BLT %s", some)
		quad(j, p)
		k.emit("ADD $16, %v, %v", p, p)
		if j < 3 {
			k.emit("CMP $0, %v", n)
		}
		next := k.label("next")
		k.emit("B %s", next)
		k.at(some)
		k.emit("ADD $4, %v, %v", n, n)
		part(j, p)
		k.emit("ADD %v<<2, %v, %v", n, p, p)
		k.emit("MOVD $0, %v", n)
		k.emit("B %s", done)
		k.at(next)
	}
}

// weightState holds the registers whose contents are used by all rows.
type weightState struct {
	exp      expConsts
	floored  bool
	floor, m v
	least    v
	acc      []v // accumulators: 16 lanes of float64
	quads    [][]v
}

func (k *function) weightState(floored bool) *weightState {
	s := &weightState{floored: floored, exp: k.expConsts(), least: k.constants("least", negativeInf)[0], m: k.v()}
	if floored {
		s.floor = k.splat("floor")
	}
	s.acc = k.vs(8)
	s.quads = [][]v{k.vs(expRegisters), k.vs(expRegisters)}
	return s
}

// weights stores e^(w−m) for n ≥ 1 entries. It calls add with the sum of each block in acc[0]. It
// advances the pointers and sets n to 0.
func (k *function) weights(s *weightState, p, w, n x, add func()) {
	// some computes the weights of one or two quads of inputs. The accumulators of the first quad
	// begin at register acc[at].
	some := func(quads [][]v, at int, again func(d, j int)) {
		k.each(quads, "fsub.4s", func(q []v) []v { return []v{q[0], q[0], s.m} })
		k.exp(s.exp, quads)
		if s.floored {
			for j, q := range quads {
				k.op("fmax.4s", q[0], q[0], s.floor)
				again(int(q[1]), j)
				k.op("cmeq.4s", q[1], q[1], s.least)
				k.op("bic", q[0], q[0], q[1])
			}
		}
		k.each(quads, "fcvtl", func(q []v) []v { return []v{q[1], q[0]} })
		k.each(quads, "fcvtl2", func(q []v) []v { return []v{q[2], q[0]} })
		for j, q := range quads {
			k.op("fadd.2d", s.acc[at+2*j], s.acc[at+2*j], q[1])
			k.op("fadd.2d", s.acc[at+2*j+1], s.acc[at+2*j+1], q[2])
		}
	}
	turns, left := k.x(), k.x()
	block, loop, end, done := k.label("block"), k.label("loop"), k.label("end"), k.label("done")
	k.at(block)
	for _, a := range s.acc {
		k.zero(a)
	}
	k.emit("LSR $4, %v, %v", n, turns)
	k.emit("CMP $8, %v", turns)
	k.emit("MOVD $8, %v", left)
	k.emit("CSEL LT, %v, %v, %v", turns, left, turns)
	k.emit("SUB %v<<4, %v, %v", turns, n, n)
	k.emit("SUB %v, %v, %v", turns, left, left) // 0 for a whole block
	k.emit("CBZ %v, %s", turns, end)
	k.at(loop)
	a, b := s.quads[0], s.quads[1]
	for half := range 2 {
		k.ldp(a[0], b[0], w, 32*half)
		some(s.quads, 4*half, func(d, j int) { k.ldr(v(d), w, 32*half+16*j) })
		k.stp(a[0], b[0], p, 32*half)
	}
	k.emit("ADD $64, %v, %v", w, w)
	k.emit("ADD $64, %v, %v", p, p)
	k.emit("SUBS $1, %v, %v", turns, turns)
	k.emit("BNE %s", loop)
	k.at(end)
	// Unless the block is full, it also includes the partial turn.
	k.emit("CBZ %v, %s", left, done)
	k.emit("CMP $0, %v", n)
	k.tail(w, n, done, func(j int, w x) {
		k.ldr(a[0], w, 0)
		some(s.quads[:1], 2*j, func(d, _ int) { k.ldr(v(d), w, 0) })
		k.str(a[0], p, 0)
		k.emit("ADD $16, %v, %v", p, p)
	}, func(j int, w x) {
		k.loadPart(a[0], w, n, s.least)
		some(s.quads[:1], 2*j, func(d, _ int) { k.loadPart(v(d), w, n, s.least) })
		k.part(false, a[0], p, n)
		k.emit("ADD %v<<2, %v, %v", n, p, p)
	})
	k.at(done)
	k.addLanes(s.acc)
	add()
	k.emit("CBNZ %v, %s", n, block)
	k.next = turns
}

// addLanes adds 16 lanes pairwise and leaves the sum in the first lane of acc[0].
func (k *function) addLanes(acc []v) {
	for j := range 4 {
		k.op("fadd.2d", acc[j], acc[j], acc[j+4])
	}
	for j := range 2 {
		k.op("fadd.2d", acc[j], acc[j], acc[j+2])
	}
	k.op("fadd.2d", acc[0], acc[0], acc[1])
	k.op("faddp.d", acc[0], acc[0])
}

package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows writes the kernels over rows of log-weights. Two are for short rows, many
// to a call; two for segments of long ones.
func rows(b *builder) {
	b.each("maxSegment", "func(w *float32, n int) float32",
		"returns the maximum of n ≥ 1 entries, NaN aside; −Inf if there is none.", func(k *kernel) {
			w, n := k.param("w"), k.param("n")
			m := k.maximum(w, n, nil)
			k.Store(m.AsX(), k.ReturnIndex(0))
		})
	for _, floored := range []bool{false, true} {
		name, doc := "weights", ""
		if floored {
			name, doc = "floored", " with a floor"
		}
		b.each(name+"Segment", "func(p, w *float32, n int, m, floor float32, total *float64)",
			"is refWeights on a segment of a row"+doc+", given its maximum; n ≥ 1, total is carried on.", func(k *kernel) {
				s := k.weightState(floored)
				p, w, n, total := k.param("p"), k.param("w"), k.param("n"), k.param("total")
				m, t := k.splat("m"), k.XMM()
				k.VMOVSD(operand.Mem{Base: total}, t)
				k.weights(s, p, w, n, m, t)
				k.VMOVSD(t, operand.Mem{Base: total})
			})
		b.each(name+"Rows", "func(p, w, max *float32, total *float64, rows, cols int, floor float32)",
			"is refWeights on rows ≥ 1 rows"+doc+"; it stores their maxima too.", func(k *kernel) {
				s := k.weightState(floored)
				p, w, cols := k.param("p"), k.param("w"), k.param("cols")
				maxes, totals, rows := k.param("max"), k.param("total"), k.param("rows")
				// The maxima of all rows first: they do not wait for each other.
				from, to, left := k.GP64(), k.GP64(), k.GP64()
				k.MOVQ(w, from)
				k.MOVQ(maxes, to)
				k.MOVQ(rows, left)
				k.Label("maxima")
				v := k.rowMaximum(from, cols)
				k.VMOVSS(v.AsX(), operand.Mem{Base: to})
				k.LEAQ(operand.Mem{Base: from, Index: cols, Scale: 4}, from)
				k.ADDQ(imm(4), to)
				k.DECQ(left)
				k.JNZ(operand.LabelRef("maxima"))
				k.Label("row")
				m, t := k.vec(), k.XMM()
				k.VBROADCASTSS(operand.Mem{Base: maxes}, m)
				k.VXORPS(t, t, t)
				k.weights(s, p, w, cols, m, t)
				k.VMOVSD(t, operand.Mem{Base: totals})
				k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
				k.LEAQ(operand.Mem{Base: w, Index: cols, Scale: 4}, w)
				k.ADDQ(imm(4), maxes)
				k.ADDQ(imm(8), totals)
				k.DECQ(rows)
				k.JNZ(operand.LabelRef("row"))
			})
	}
	b.each("scaleRows", "func(dst, p *float32, total *float64, rows, cols int)",
		"stores rows ≥ 1 rows of weights times softmaxScale of their totals.", func(k *kernel) {
			dst, p, total, rows, cols := k.param("dst"), k.param("p"), k.param("total"), k.param("rows"), k.param("cols")
			one := k.XMM()
			k.VMOVSD(k.table("one64", 0, 0x3ff00000), one)
			tiny := k.table("tiny64", 0, 0x38200000) // 2⁻¹²⁵
			k.Label("row")
			low, by := k.vec(), k.vec()
			t, x := k.XMM(), k.XMM()
			k.VMOVSD(operand.Mem{Base: total}, t)
			k.VDIVSD(t, one, x)
			k.VCVTSD2SS(x, x, x)
			k.VBROADCASTSS(x, by)
			k.VMULSD(tiny, t, t)
			k.VCVTSD2SS(t, t, t)
			k.VBROADCASTSS(t, low)
			k.stream(cols, func(i reg.GPVirtual, sel *mask) {
				const notLess = 5
				v := k.load(at(p, i, 0), sel)
				if k.wide() {
					m, r := k.K(), k.vec()
					k.VCMPPS(operand.U8(notLess), low, v, m)
					k.VMULPS_Z(by, v, m, r)
					k.store(r, at(dst, i, 0), sel)
					return
				}
				k.store(k.keep(k.mul(v, by), v, low, notLess), at(dst, i, 0), sel)
			})
			k.LEAQ(operand.Mem{Base: dst, Index: cols, Scale: 4}, dst)
			k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
			k.ADDQ(imm(8), total)
			k.DECQ(rows)
			k.JNZ(operand.LabelRef("row"))
		})
	b.each("shiftRow", "func(dst, w *float32, m, l float32, n int)",
		"stores (w−m)−l.", func(k *kernel) {
			dst, w, n := k.param("dst"), k.param("w"), k.param("n")
			m, l := k.splat("m"), k.splat("l")
			k.stream(n, func(i reg.GPVirtual, sel *mask) {
				k.store(k.sub(k.sub(k.load(at(w, i, 0), sel), m), l), at(dst, i, 0), sel)
			})
		})
}

// keep is v where a compares to b by the predicate, else 0.
func (k *kernel) keep(v, a reg.VecVirtual, b operand.Op, predicate uint8) reg.VecVirtual {
	if k.wide() {
		m, r := k.K(), k.vec()
		k.VCMPPS(operand.U8(predicate), b, a, m)
		k.VMOVAPS_Z(v, m, r)
		return r
	}
	m := k.vec()
	k.VCMPPS(operand.U8(predicate), b, a, m)
	return k.and(v, m)
}

// parts runs body over n entries, 16 at a time: on the parts of 16 virtual lanes
// that registers hold. Full turns run in a loop up to limit, the last, partial
// turn in tail.
func (k *kernel) tail(base, i, n reg.GPVirtual, body func(j int, v operand.Mem, sel *mask)) {
	k.parts(16/k.w, i, n, func(j int, sel *mask) { body(j, at(base, i, 4*k.w*j), sel) })
}

// parts calls body for each of the registers of a partial turn that has entries
// left between i and n, with the mask of those entries.
func (k *kernel) parts(count int, i, n reg.GPVirtual, body func(j int, sel *mask)) {
	rest := k.GP64()
	for j := range count {
		skip := k.label("skip")
		k.MOVQ(n, rest)
		k.SUBQ(i, rest)
		k.SUBQ(imm(8*j), rest)
		k.JLE(operand.LabelRef(skip))
		if !k.wide() {
			limit := k.GP64()
			k.MOVQ(imm(8), limit)
			k.CMPQ(rest, limit)
			k.CMOVQGT(limit, rest)
		}
		body(j, k.leading(rest))
		k.Label(skip)
	}
}

// maximum returns the maximum of n ≥ 1 entries in a scalar register, NaN aside.
// visit, if any, sees every register of entries, absent ones being −Inf.
func (k *kernel) maximum(w, n reg.GPVirtual, visit func(v reg.VecVirtual)) reg.VecVirtual {
	if visit == nil {
		visit = func(reg.VecVirtual) {}
	}
	least := k.resident(math.Float32bits(float32(math.Inf(-1))))
	const chains = 4 // of maxima, which hide their latency
	acc := make([]reg.VecVirtual, chains)
	for j := range acc {
		acc[j] = k.vec()
		k.vmov(least, acc[j])
	}
	i := k.GP64()
	tail := k.label("maxTail")
	k.XORQ(i, i)
	turns := func(registers int) {
		full := k.GP64()
		loop, next := k.label("max"), k.label("maxNext")
		k.MOVQ(n, full)
		k.ANDQ(operand.I8(int8(-registers*k.w)), full)
		k.CMPQ(i, full)
		k.JGE(operand.LabelRef(next))
		k.Label(loop)
		for j, m := range acc[:registers] {
			v := k.load(at(w, i, 4*k.w*j), nil)
			visit(v)
			k.VMAXPS(m, v, m)
		}
		k.ADDQ(imm(registers*k.w), i)
		k.CMPQ(i, full)
		k.JL(operand.LabelRef(loop))
		k.Label(next)
	}
	turns(chains)
	turns(16 / k.w)
	k.Label(tail)
	k.tail(w, i, n, func(j int, v operand.Mem, sel *mask) {
		x := k.vec()
		if k.wide() {
			k.vmov(least, x)
			k.VMOVUPS(v, sel.k, x)
		} else {
			k.VMASKMOVPS(v, sel.y, x)
			k.VBLENDVPS(sel.y, x, least, x)
		}
		visit(x)
		k.VMAXPS(acc[j], x, acc[j])
	})
	m := acc[0]
	y, x, h := m.AsY(), m.AsX(), k.YMM()
	k.VMAXPS(acc[1], m, m)
	k.VMAXPS(acc[3], acc[2], acc[2])
	k.VMAXPS(acc[2], m, m)
	if k.wide() {
		k.VEXTRACTF64X4(operand.U8(1), m, h)
		k.VMAXPS(h, y, y)
	}
	k.upper(y, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	k.VPERMILPS(operand.U8(0x4E), x, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	k.VPERMILPS(operand.U8(0xB1), x, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	return m
}

// rowMaximum is rowMax of the reference, in every lane.
func (k *kernel) rowMaximum(w, n reg.GPVirtual) reg.VecVirtual {
	m := k.maximum(w, n, nil)
	x := m.AsX()
	least, keep, zero := k.resident(math.Float32bits(float32(math.Inf(-1)))), k.XMM(), k.XMM()
	k.VXORPS(zero, zero, zero)
	if k.wide() {
		z := k.K()
		k.VCMPPS(operand.U8(4), least.AsX(), x, z) // not equal
		k.VADDPS_Z(zero, x, z, keep)
	} else {
		k.VCMPPS(operand.U8(4), least.AsX(), x, keep)
		k.VADDPS(zero, x, zero)
		k.VANDPS(zero, keep, keep)
	}
	r := k.vec()
	k.VBROADCASTSS(keep, r)
	return r
}

// weightState holds what stays in registers over rows.
type weightState struct {
	exp   expConsts
	floor reg.VecVirtual // nil: none
	least operand.Op
	acc   []reg.VecVirtual // 16 lanes of float64
}

func (k *kernel) weightState(floored bool) *weightState {
	s := &weightState{exp: k.expMemory(), least: k.f32(math.Inf(-1))}
	if floored {
		s.floor = k.splat("floor")
	}
	for range 32 / k.w {
		s.acc = append(s.acc, k.vec())
	}
	return s
}

// weights stores e^(w−m) for n ≥ 1 entries and adds their blocks to total.
func (k *kernel) weights(s *weightState, p, w, n reg.GPVirtual, m, total reg.VecVirtual) {
	one := func(j int, i reg.GPVirtual, sel *mask) {
		v := k.load(at(w, i, 4*k.w*j), sel)
		e := k.exp(s.exp, k.sub(v, m))
		if s.floor != nil {
			k.VMAXPS(e, s.floor, e)
			e = k.keep(e, v, s.least, 4)
		}
		k.store(e, at(p, i, 4*k.w*j), sel)
		if sel == nil { // to widen what has been stored takes no shuffles
			k.addFrom(at(p, i, 4*k.w*j), s.acc[2*j], s.acc[2*j+1])
			return
		}
		if k.wide() {
			k.VMOVAPS_Z(e, sel.k, e)
		} else {
			k.VANDPS(sel.y, e, e)
		}
		k.addWide(e, s.acc[2*j], s.acc[2*j+1])
	}
	i, full, start, limit := k.GP64(), k.GP64(), k.GP64(), k.GP64()
	block, loop, end, done, ready := k.label("block"), k.label("loop"), k.label("end"), k.label("done"), k.label("ready")
	k.XORQ(i, i)
	if k.wide() {
		k.wholes(s, p, w, i, n, m, total)
		k.CMPQ(i, n)
		k.JE(operand.LabelRef(ready))
	}
	k.MOVQ(i, start)
	k.MOVQ(n, full)
	k.ANDQ(operand.I8(-16), full)
	k.Label(block)
	for _, a := range s.acc {
		k.clear(a)
	}
	k.LEAQ(operand.Mem{Base: start, Disp: 128}, limit)
	k.CMPQ(limit, full)
	k.CMOVQGT(full, limit)
	k.CMPQ(i, limit)
	k.JGE(operand.LabelRef(end))
	k.Label(loop)
	for j := range 16 / k.w {
		one(j, i, nil)
	}
	k.ADDQ(imm(16), i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(loop))
	k.Label(end)
	// The partial turn belongs to this block unless the block is full.
	k.LEAQ(operand.Mem{Base: start, Disp: 128}, start)
	k.CMPQ(i, start)
	k.JGE(operand.LabelRef(done))
	k.tail(w, i, n, func(j int, _ operand.Mem, sel *mask) { one(j, i, sel) })
	k.Label(done)
	k.addLanes(s.acc, total)
	if !k.wide() {
		k.CMPQ(start, n)
		k.JL(operand.LabelRef(block))
	}
	k.Label(ready)
}

// wholes does, with AVX-512, blocks of 128 entries from i = 0 on, while n has another, and
// leaves i behind them. A block is added up while the weights of the next are computed,
// the first time one of zeros.
func (k *kernel) wholes(s *weightState, p, w, i, n reg.GPVirtual, m, total reg.VecVirtual) {
	loop, last := k.label("whole"), k.label("last")
	limit, before := k.GP64(), k.GP64()
	k.MOVQ(n, limit)
	k.ANDQ(operand.I8(-128), limit)
	k.JZ(operand.LabelRef(last))
	k.LEAQ(k.table("zeros", make([]uint32, 128)...), before)
	k.Label(loop)
	var x [8]reg.VecVirtual
	for j := range x {
		x[j] = k.vec()
		k.VMOVUPS(at(w, i, 64*j), x[j])
		k.VFMSUB132PS_BCST(s.exp.one, m, x[j])
	}
	e := k.exps(s.exp, x, func(t reg.VecVirtual) {
		k.VMOVUPS(at(w, i, 64*7), t)
		k.VSUBPS(m, t, t)
	}, func(step int) { k.addPart(s, before, step, total) })
	for j, v := range e {
		if s.floor != nil {
			const notEqual = 4
			some := k.K()
			k.VCMPPS(operand.U8(notEqual), at(w, i, 64*j), s.least, some)
			k.VMAXPS_Z(v, s.floor, some, v)
		}
		k.VMOVUPS(v, at(p, i, 64*j))
	}
	k.LEAQ(at(p, i, 0), before)
	k.ADDQ(imm(128), i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(loop))
	for step := range 9 {
		k.addPart(s, before, step, total)
	}
	k.Label(last)
}

// addPart does one of nine steps in which the 128 weights at p are added up.
func (k *kernel) addPart(s *weightState, p reg.GPVirtual, step int, total reg.VecVirtual) {
	if step == 8 {
		k.addLanes(s.acc, total)
		return
	}
	for h, acc := range s.acc {
		if step == 0 {
			k.clear(acc)
		}
		v := k.vec()
		k.VCVTPS2PD(operand.Mem{Base: p, Disp: 64*step + 32*h}, v)
		k.VADDPD(v, acc, acc)
	}
}

// addWide adds a register of float32 to two of float64.
func (k *kernel) addWide(v, lo, hi reg.VecVirtual) {
	a, b, h := k.vec(), k.vec(), k.half()
	if k.wide() {
		k.VCVTPS2PD(v.AsY(), a)
		k.VEXTRACTF64X4(operand.U8(1), v, h)
	} else {
		k.VCVTPS2PD(v.AsX(), a)
		k.VEXTRACTF128(operand.U8(1), v, h)
	}
	k.VCVTPS2PD(h, b)
	k.VADDPD(a, lo, lo)
	k.VADDPD(b, hi, hi)
}

// addLanes adds 16 lanes by halving, and their sum to total; acc is destroyed.
func (k *kernel) addLanes(acc []reg.VecVirtual, total reg.VecVirtual) {
	a, h := acc[0], k.YMM()
	y, x := a.AsY(), a.AsX()
	if k.wide() {
		k.VADDPD(acc[1], a, a)
		k.VEXTRACTF64X4(operand.U8(1), a, h)
		k.VADDPD(h, y, y)
	} else {
		k.VADDPD(acc[2], a, a)
		k.VADDPD(acc[3], acc[1], acc[1])
		k.VADDPD(acc[1], a, a)
	}
	k.upper(y, h.AsX())
	k.VADDPD(h.AsX(), x, x)
	k.VPERMILPD(operand.U8(1), x, h.AsX())
	k.VADDSD(h.AsX(), x, x)
	k.VADDSD(x, total, total)
}

// upper extracts the upper half of a YMM register.
func (k *kernel) upper(y, x reg.Register) {
	if k.wide() {
		k.VEXTRACTF32X4(operand.U8(1), y, x)
	} else {
		k.VEXTRACTF128(operand.U8(1), y, x)
	}
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows writes the kernels over rows of log-weights: two for short rows, many rows in a call, and
// two for segments of long rows.
func rows(b *builder) {
	b.each("maxSegment", func(k *kernel) {
		w, n := k.param("w"), k.param("n")
		m := k.maximum(w, n, nil)
		k.Store(m.AsX(), k.ReturnIndex(0))
	})
	for _, floored := range []bool{false, true} {
		name := "weights"
		if floored {
			name = "floored"
		}
		b.each(name+"Segment", func(k *kernel) {
			s := k.weightState(floored)
			p, w, n, total := k.param("p"), k.param("w"), k.param("n"), k.param("total")
			m, t := k.splat("m"), k.XMM()
			k.VMOVSD(operand.Mem{Base: total}, t)
			k.weights(s, p, w, n, m, t)
			k.VMOVSD(t, operand.Mem{Base: total})
		})
		b.each(name+"Rows", func(k *kernel) {
			s := k.weightState(floored)
			p, w, cols := k.param("p"), k.param("w"), k.param("cols")
			maxes, totals, rows := k.param("max"), k.param("total"), k.param("rows")
			// First compute the maxima of all rows, which do not depend on each other.
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
	b.each("scaleRows", func(k *kernel) {
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
	b.each("shiftRow", func(k *kernel) {
		dst, w, n := k.param("dst"), k.param("w"), k.param("n")
		m, l := k.splat("m"), k.splat("l")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			k.store(k.sub(k.sub(k.load(at(w, i, 0), sel), m), l), at(dst, i, 0), sel)
		})
	})
}

// keep returns v in the lanes where a compares to b by the predicate, and 0 in the others.
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

// tail runs body over the entries between i and n, fewer than 16: once for each register that has
// entries left, with its index, its memory operand and the mask of those entries.
func (k *kernel) tail(base, i, n reg.GPVirtual, body func(j int, v operand.Mem, sel *mask)) {
	k.parts(16/k.w, i, n, func(j int, sel *mask) { body(j, at(base, i, 4*k.w*j), sel) })
}

// parts calls body for each of count registers that has entries left between i and n, with the mask
// of those entries.
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

// maximum returns the maximum of n ≥ 1 entries, ignoring NaNs, in a scalar register. If visit is
// not nil, it is called with every register of entries; absent entries are −Inf.
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

// rowMaximum returns the maximum of a row in every lane. It is rowMax of the reference.
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

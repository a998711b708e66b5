package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// short writes the kernels over rows of fewer than 128 entries with AVX-512, in three
// passes over many rows: the steps of one row wait for each other, those of many do not,
// and the exponentials of a run of rows fill whole registers.
func short(b *builder) {
	for _, floored := range []bool{false, true} {
		name, doc := "", ""
		if floored {
			name, doc = "Floored", "; finite entries stay finite"
		}
		b.one(16, "shiftRows"+name, "func(p, w, max *float32, rows, cols int)",
			"stores w less its maximum, and that, of rows ≥ 1 rows of cols < 128 entries"+doc+".",
			func(k *kernel) { shiftRows(k, floored) })
		doc = ""
		if floored {
			doc = ", at least floor where x is not −Inf"
		}
		b.one(16, "exps"+name, "func(p *float32, n int, floor float32)",
			"replaces n ≥ 1 entries x by e^x"+doc+".", func(k *kernel) { flat(k, floored) })
	}
	b.one(16, "totalRows", "func(p *float32, total *float64, rows, cols int)",
		"stores the totals of rows ≥ 1 rows of cols < 128 weights.", totalRows)
	b.one(16, "pickShort", "func(idx *int32, p *float32, total, u *float64, rows, cols int)",
		"is Pick on rows = 8k ≥ 8 rows of cols < 128 weights, of which total holds the totals; −2 where sums disagree by rounding.", pickShort)
}

// turns runs body for whole registers of a row and then, with a mask, for what is left.
func (k *kernel) turns(cols reg.GPVirtual, rest *mask, body func(i reg.GPVirtual, sel *mask)) {
	i, full := k.GP64(), k.GP64()
	loop, tail, done := k.label("turn"), k.label("part"), k.label("whole")
	k.XORQ(i, i)
	k.MOVQ(cols, full)
	k.ANDQ(operand.I8(-16), full)
	k.JZ(operand.LabelRef(tail))
	k.Label(loop)
	body(i, nil)
	k.ADDQ(imm(16), i)
	k.CMPQ(i, full)
	k.JL(operand.LabelRef(loop))
	k.CMPQ(i, cols)
	k.JGE(operand.LabelRef(done))
	k.Label(tail)
	body(i, rest)
	k.Label(done)
}

// remainder is the mask of the entries of a row that do not fill a register.
func (k *kernel) remainder(cols reg.GPVirtual) *mask {
	n := k.GP64()
	k.MOVQ(cols, n)
	k.ANDQ(imm(15), n)
	return k.leading(n)
}

func shiftRows(k *kernel, floored bool) {
	p, w, maxes := k.param("p"), k.param("w"), k.param("max")
	rows, cols := k.param("rows"), k.param("cols")
	rest := k.remainder(cols)
	least := k.resident(math.Float32bits(float32(math.Inf(-1))))
	lowest, zero := k.f32(-math.MaxFloat32).(reg.VecVirtual), k.XMM()
	k.VXORPS(zero, zero, zero)
	const notEqual = 4
	k.Label("row")
	m, h := k.vec(), k.YMM()
	k.vmov(least, m)
	k.turns(cols, rest, func(i reg.GPVirtual, sel *mask) {
		if sel == nil {
			v := k.load(at(w, i, 0), nil)
			k.VMAXPS(m, v, m) // m where v is NaN
			return
		}
		v := k.vec()
		k.vmov(least, v)
		k.VMOVUPS(at(w, i, 0), sel.k, v)
		k.VMAXPS(m, v, m)
	})
	y, x := m.AsY(), m.AsX()
	k.VEXTRACTF64X4(operand.U8(1), m, h)
	k.VMAXPS(h, y, y)
	k.upper(y, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	k.VPERMILPS(operand.U8(0x4E), x, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	k.VPERMILPS(operand.U8(0xB1), x, h.AsX())
	k.VMAXPS(h.AsX(), x, x)
	some := k.K()
	k.VCMPPS(operand.U8(notEqual), least.AsX(), x, some)
	k.VADDPS_Z(zero, x, some, x)
	k.VMOVSS(x, operand.Mem{Base: maxes})
	k.VBROADCASTSS(x, m)
	k.turns(cols, rest, func(i reg.GPVirtual, sel *mask) {
		v := k.load(at(w, i, 0), sel)
		d := k.sub(v, m)
		if floored {
			finite := k.K()
			k.VCMPPS(operand.U8(notEqual), least, v, finite)
			k.VMAXPS(d, lowest, finite, d)
		}
		k.store(d, at(p, i, 0), sel)
	})
	k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
	k.LEAQ(operand.Mem{Base: w, Index: cols, Scale: 4}, w)
	k.ADDQ(imm(4), maxes)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
}

func flat(k *kernel, floored bool) {
	p, n := k.param("p"), k.param("n")
	s := &weightState{exp: k.expMemory()}
	least := k.resident(math.Float32bits(float32(math.Inf(-1))))
	if floored {
		s.floor = k.splat("floor")
	}
	const notEqual = 4
	raise := func(e reg.VecVirtual, x operand.Op) {
		if floored {
			some := k.K()
			k.VCMPPS(operand.U8(notEqual), x, least, some)
			k.VMAXPS_Z(e, s.floor, some, e)
		}
	}
	end := k.GP64()
	k.LEAQ(operand.Mem{Base: p, Index: n, Scale: 4}, end)
	k.Label("block")
	k.SUBQ(imm(128), n)
	k.JL(operand.LabelRef("rest"))
	var x [8]reg.VecVirtual
	for j := range x {
		x[j] = k.load(operand.Mem{Base: p, Disp: 64 * j}, nil)
	}
	for j, e := range k.exps(s.exp, x, func(t reg.VecVirtual) { k.VMOVUPS(operand.Mem{Base: p, Disp: 64 * 7}, t) }, nil) {
		raise(e, operand.Mem{Base: p, Disp: 64 * j})
		k.store(e, operand.Mem{Base: p, Disp: 64 * j}, nil)
	}
	k.ADDQ(imm(512), p)
	k.JMP(operand.LabelRef("block"))
	k.Label("rest")
	k.ADDQ(imm(128), n)
	k.stream(n, func(i reg.GPVirtual, sel *mask) {
		v, x := k.load(at(p, i, 0), sel), k.vec()
		k.vmov(v, x)
		e := k.exp(s.exp, x)
		raise(e, v)
		k.store(e, at(p, i, 0), sel)
	})
}

func totalRows(k *kernel) {
	p, total, rows, cols := k.param("p"), k.param("total"), k.param("rows"), k.param("cols")
	rest, upper := k.remainder(cols), k.K()
	k.KSHIFTRW(operand.U8(8), rest.k, upper)
	acc := []reg.VecVirtual{k.vec(), k.vec()}
	zero, t := k.XMM(), k.XMM()
	k.VXORPS(zero, zero, zero)
	k.Label("row")
	k.clear(acc[0])
	k.clear(acc[1])
	k.turns(cols, rest, func(i reg.GPVirtual, sel *mask) {
		if sel == nil {
			k.addFrom(at(p, i, 0), acc[0], acc[1])
			return
		}
		for h, m := range []reg.OpmaskVirtual{rest.k, upper} {
			v := k.vec()
			k.VCVTPS2PD_Z(at(p, i, 32*h), m, v)
			k.VADDPD(v, acc[h], acc[h])
		}
	})
	k.VMOVAPS(zero, t)
	k.addLanes(acc, t)
	k.VMOVSD(t, operand.Mem{Base: total})
	k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
	k.ADDQ(imm(8), total)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
}

// pickShort draws from eight rows at a time without a branch on what is drawn: groups of
// 16 weights row by row, then the weights of one group each in eight lanes.
func pickShort(k *kernel) {
	idx, p, totals, us := k.param("idx"), k.param("p"), k.param("total"), k.param("u")
	rows, cols := k.param("rows"), k.param("cols")
	const lanes = 8
	before, starts, targets := k.AllocLocal(8*lanes), k.AllocLocal(8*lanes), k.AllocLocal(8*lanes)
	rest := k.remainder(cols)
	upper := k.K()
	k.KSHIFTRW(operand.U8(8), rest.k, upper)
	one := k.u64("integer1", 1).(reg.VecVirtual)
	turn := k.u64("integer16", 16).(reg.VecVirtual)
	none, redo := k.u64("none64", math.MaxUint64).(reg.VecVirtual), k.u64("redo64", math.MaxUint64-1).(reg.VecVirtual)
	acc := k.lanes()
	zero := k.vec()
	k.clear(zero)
	width, end, first := k.vec(), k.vec(), k.GP64() // entries of a row, and of all rows
	k.VPBROADCASTQ(cols, width)
	all := k.GP64()
	k.MOVQ(cols, all)
	k.IMULQ(rows, all)
	k.VPBROADCASTQ(all, end)
	k.XORQ(first, first)

	const lessOrEqual, greater = 18, 30 // quiet
	k.Label("rows")
	t := k.vec()
	k.VMOVUPD(operand.Mem{Base: us}, t)
	k.VMULPD(operand.Mem{Base: totals}, t, t)
	k.VMOVUPD(t, targets)
	q, r, from := k.GP64(), k.GP64(), k.GP64()
	k.XORQ(r, r)
	k.MOVQ(first, from)
	k.Label("row")
	sum, below, target := k.XMM(), k.XMM(), k.XMM()
	k.VXORPS(sum, sum, sum)
	k.VXORPS(below, below, below)
	k.VMOVSD(targets.Idx(r, 8), target)
	start, passed := k.GP64(), k.GP64()
	k.MOVQ(from, start)
	k.LEAQ(operand.Mem{Base: p, Index: from, Scale: 4}, q)
	group := func(i reg.GPVirtual, sel *mask) {
		if sel == nil {
			for h := range acc {
				k.VCVTPS2PD(at(q, i, 32*h), acc[h])
			}
		} else {
			k.VCVTPS2PD_Z(at(q, i, 0), rest.k, acc[0])
			k.VCVTPS2PD_Z(at(q, i, 32), upper, acc[1])
		}
		k.addLanes(acc, sum)
		m := k.K()
		k.VCMPSD(operand.U8(lessOrEqual), target, sum, m)
		k.VMOVSD(sum, below, m, below)
		k.KMOVB(m, passed.As32())
		k.SHLQ(operand.U8(4), passed)
		k.ADDQ(passed, start)
	}
	k.turns(cols, rest, group)
	k.VMOVSD(below, before.Idx(r, 8))
	k.MOVQ(start, starts.Idx(r, 8))
	k.ADDQ(cols, from)
	k.INCQ(r)
	k.CMPQ(r, imm(lanes))
	k.JL(operand.LabelRef("row"))

	at, count, total, prefix, left := k.vec(), k.vec(), k.vec(), k.vec(), k.vec()
	k.VMOVDQU64(starts, at)
	k.VMOVUPD(targets, t)
	k.VMOVUPD(operand.Mem{Base: totals}, total)
	k.VSUBPD(before, t, left)
	k.clear(count)
	k.clear(prefix)
	for range 16 {
		in, m, v, wide := k.K(), k.K(), k.YMM(), k.vec()
		k.VPCMPQ(operand.U8(1), end, at, in) // no read beyond the last row
		k.VXORPS(v, v, v)
		k.VGATHERQPS(operand.Mem{Base: p, Index: at, Scale: 4}, in, v)
		k.VCVTPS2PD(v, wide)
		k.VADDPD(wide, prefix, prefix)
		k.VCMPPD(operand.U8(lessOrEqual), left, prefix, m)
		k.VPADDQ(one, count, m, count)
		k.VPADDQ(one, at, at)
	}
	// The level is that of the first entry whose sum is above the target.
	level, m := k.vec(), k.K()
	k.VMOVDQU64(starts, level)
	k.VPADDQ(count, level, level)
	base := k.vec()
	k.VPBROADCASTQ(first, base)
	k.VPSUBQ(base, level, level)
	k.VPMULLQ(k.eight(), width, base)
	k.VPSUBQ(base, level, level)
	k.VPCMPQ(operand.U8(0), turn, count, m) // none in the group: sums disagree
	k.VMOVDQA64(redo, m, level)
	k.VPCMPQ(operand.U8(5), width, level, m) // not less: beyond the row
	k.VMOVDQA64(redo, m, level)
	k.VCMPPD(operand.U8(greater), t, total, m) // u·total rounded up to total
	k.KNOTB(m, m)
	k.VMOVDQA64(redo, m, level)
	k.VCMPPD(operand.U8(greater), zero, total, m)
	k.KNOTB(m, m)
	k.VMOVDQA64(none, m, level)
	out := k.YMM()
	k.VPMOVQD(level, out)
	k.VMOVDQU(out, operand.Mem{Base: idx})
	k.MOVQ(from, first)
	k.ADDQ(imm(4*lanes), idx)
	k.ADDQ(imm(8*lanes), totals)
	k.ADDQ(imm(8*lanes), us)
	k.SUBQ(imm(lanes), rows)
	k.JNZ(operand.LabelRef("rows"))
}

// eight is 0 … 7 in lanes of 64 bits.
func (k *kernel) eight() reg.VecVirtual {
	var words []uint32
	for i := range uint32(8) {
		words = append(words, i, 0)
	}
	r := k.vec()
	k.VMOVDQU64(k.table("eight", words...), r)
	return r
}

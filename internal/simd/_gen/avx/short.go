package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// short writes the kernels over rows of fewer than 128 entries with AVX-512, in three passes over
// many rows. The steps within one row wait for each other, whereas those of many rows do not, and
// the exponentials of several rows fill whole registers.
func short(b *builder) {
	for _, floored := range []bool{false, true} {
		name := ""
		if floored {
			name = "Floored"
		}
		b.one(16, "shiftRows"+name, func(k *kernel) { shiftRows(k, floored) })
		b.one(16, "exps"+name, func(k *kernel) { flat(k, floored) })
	}
	b.one(16, "totalRows", totalRows)
	b.one(16, "pickShort", func(k *kernel) { pickEight(k, pickGroups) })
	b.one(16, "pickLong", func(k *kernel) { pickEight(k, pickBlocks) })
}

// turns calls body for the whole registers of a row and then, with a mask, for the remaining
// entries.
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

// remainder returns the mask of the entries of a row that do not fill a register.
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

// eight returns a register with 0 … 7 in its 64-bit lanes.
func (k *kernel) eight() reg.VecVirtual {
	var words []uint32
	for i := range uint32(8) {
		words = append(words, i, 0)
	}
	r := k.vec()
	k.VMOVDQU64(k.table("eight", words...), r)
	return r
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func argMax(b *builder) {
	b.each("argMaxRows", func(k *kernel) {
		idx, w, rows, cols := k.param("idx"), k.param("w"), k.param("rows"), k.param("cols")
		least := k.resident(math.Float32bits(float32(math.Inf(-1))))
		const equal, unordered = 0, 3
		i, at0 := k.GP64(), k.GP64()
		k.Label("row")

		// First compute the maximum and whether an entry is NaN.
		bad := k.vec()
		var nan reg.OpmaskVirtual
		if k.wide() {
			nan = k.K()
			k.KXORW(nan, nan, nan)
		} else {
			k.clear(bad)
		}
		m := k.maximum(w, cols, func(v reg.VecVirtual) {
			if k.wide() {
				u := k.K()
				k.VCMPPS(operand.U8(unordered), v, v, u)
				k.KORW(u, nan, nan)
			} else {
				u := k.vec()
				k.VCMPPS(operand.U8(unordered), v, v, u)
				k.VORPS(u, bad, bad)
			}
		})
		g := k.GP32()
		if k.wide() {
			k.KMOVW(nan, g)
		} else {
			k.VMOVMSKPS(bad, g)
		}
		k.MOVQ(operand.I32(-1), at0)
		k.TESTL(g, g)
		k.JNZ(operand.LabelRef("next"))
		k.VUCOMISS(least.AsX(), m.AsX())
		k.JEQ(operand.LabelRef("next"))

		// Then find the first entry that is equal to the maximum.
		top := k.vec()
		k.VBROADCASTSS(m.AsX(), top)
		bits := k.GP32()
		k.XORQ(i, i)
		rest := k.GP64()
		k.Label("seek")
		k.MOVQ(cols, rest)
		k.SUBQ(i, rest)
		k.CMPQ(rest, imm(k.w))
		k.JL(operand.LabelRef("last"))
		v := k.load(at(w, i, 0), nil)
		if k.wide() {
			hit := k.K()
			k.VCMPPS(operand.U8(equal), v, top, hit)
			k.KMOVW(hit, bits)
		} else {
			hit := k.vec()
			k.VCMPPS(operand.U8(equal), v, top, hit)
			k.VMOVMSKPS(hit, bits)
		}
		k.TESTL(bits, bits)
		k.JNZ(operand.LabelRef("hit"))
		k.ADDQ(imm(k.w), i)
		k.JMP(operand.LabelRef("seek"))
		k.Label("last")
		sel := k.leading(rest)
		v = k.load(at(w, i, 0), sel)
		if k.wide() {
			hit := k.K()
			k.VCMPPS(operand.U8(equal), v, top, sel.k, hit)
			k.KMOVW(hit, bits)
		} else {
			hit := k.vec()
			k.VCMPPS(operand.U8(equal), v, top, hit)
			k.VANDPS(sel.y, hit, hit)
			k.VMOVMSKPS(hit, bits)
		}
		k.Label("hit")
		k.TZCNTL(bits, bits)
		k.LEAQ(operand.Mem{Base: i, Index: bits.As64(), Scale: 1}, at0)
		k.Label("next")
		k.MOVL(at0.As32(), operand.Mem{Base: idx})
		k.LEAQ(operand.Mem{Base: w, Index: cols, Scale: 4}, w)
		k.ADDQ(imm(4), idx)
		k.DECQ(rows)
		k.JNZ(operand.LabelRef("row"))
	})
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// squares writes the kernels for distances from rows and for their gradients.
func squares(b *builder) {
	b.each("squares", func(k *kernel) {
		dst, x, m, w, count, n := k.param("dst"), k.param("x"), k.param("m"), k.param("w"), k.param("count"), k.param("n")
		row, j := k.GP64(), k.GP64()
		var sums []reg.VecVirtual
		for range 32 / k.w {
			sums = append(sums, k.vec())
		}
		k.XORQ(row, row)
		k.Label("row")
		for _, s := range sums {
			k.VXORPD(s, s, s)
		}
		k.XORQ(j, j)
		k.Label("columns")
		for l, s := range sums {
			d := k.vec()
			k.VMOVUPD(operand.Mem{Base: x, Index: j, Scale: 8, Disp: 4 * k.w * l}, d)
			k.VSUBPD(operand.Mem{Base: m, Index: j, Scale: 8, Disp: 4 * k.w * l}, d, d)
			k.VMULPD(d, d, d)
			k.VMULPD(operand.Mem{Base: w, Index: j, Scale: 8, Disp: 4 * k.w * l}, d, d)
			k.VADDPD(d, s, s)
		}
		k.ADDQ(operand.U8(16), j)
		k.CMPQ(j, n)
		k.JL(operand.LabelRef("columns"))
		k.VMOVSD(k.halve(sums), operand.Mem{Base: dst, Index: row, Scale: 8})
		k.LEAQ(operand.Mem{Base: m, Index: n, Scale: 8}, m)
		k.LEAQ(operand.Mem{Base: w, Index: n, Scale: 8}, w)
		k.INCQ(row)
		k.CMPQ(row, count)
		k.JL(operand.LabelRef("row"))
	})
	b.each("attract", func(k *kernel) {
		dst, x, m, w, n, j, p := k.param("dst"), k.param("x"), k.param("m"), k.param("w"), k.param("n"), k.GP64(), k.vec()
		k.broadcast("p", p)
		k.XORQ(j, j)
		k.Label("columns")
		for l := range 32 / k.w {
			at := func(base reg.GPVirtual) operand.Mem {
				return operand.Mem{Base: base, Index: j, Scale: 8, Disp: 4 * k.w * l}
			}
			d := k.vec()
			k.VMOVUPD(at(m), d)
			k.VSUBPD(at(x), d, d)
			k.VMULPD(p, d, d)
			k.VMULPD(at(w), d, d)
			k.VADDPD(at(dst), d, d)
			k.VMOVUPD(d, at(dst))
		}
		k.ADDQ(operand.U8(16), j)
		k.CMPQ(j, n)
		k.JL(operand.LabelRef("columns"))
	})
}

// halve adds the 16 lanes in registers in the same order as halve of package simd. It destroys the
// registers.
func (k *kernel) halve(s []reg.VecVirtual) reg.VecVirtual {
	for ; len(s) > 1; s = s[:len(s)/2] {
		for l := range len(s) / 2 {
			k.VADDPD(s[l+len(s)/2], s[l], s[l])
		}
	}
	half := k.half()
	if k.wide() {
		k.VEXTRACTF64X4(operand.U8(1), s[0], half)
		k.VADDPD(half, s[0].AsY(), half)
		q := k.XMM()
		k.VEXTRACTF128(operand.U8(1), half, q)
		k.VADDPD(q, half.AsX(), q)
		half = q
	} else {
		k.VEXTRACTF128(operand.U8(1), s[0], half)
		k.VADDPD(half, s[0].AsX(), half)
	}
	one := k.XMM()
	k.VUNPCKHPD(half, half, one)
	k.VADDSD(one, half.AsX(), one)
	return one
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strip is the number of registers of sums that are kept during the loop over the rows. It is large
// enough to hide the latency of additions, and small enough for 16 registers.
const strip = 8

func columns(b *builder) {
	b.each("addRows64", func(k *kernel) {
		dst, src, w := k.param("dst"), k.param("src"), k.param("w")
		stride, rows, count, n := k.param("stride"), k.param("rows"), k.param("count"), k.param("n")
		k.SHLQ(operand.U8(3), stride)
		minus, one := math.Float64bits(-1), math.Float64bits(1)
		signs := k.GP64()
		k.LEAQ(k.table("signs64", uint32(minus), uint32(minus>>32), uint32(one), uint32(one>>32)), signs)
		col, i, row, neg := k.GP64(), k.GP64(), k.GP64(), k.GP64()
		k.XORQ(col, col)
		sign := k.vec()
		acc := make([]reg.VecVirtual, strip)
		for j := range acc {
			acc[j] = k.vec()
		}
		k.Label("strip")
		for j, a := range acc {
			k.VMOVUPD(operand.Mem{Base: src, Index: col, Scale: 8, Disp: 4 * k.w * j}, a)
		}
		k.XORQ(i, i)
		k.Label("row")
		k.MOVLQSX(operand.Mem{Base: rows, Index: i, Scale: 4}, row)
		k.MOVQ(row, neg)
		k.SARQ(operand.U8(63), neg) // −1 if the row is subtracted
		k.XORQ(neg, row)
		k.IMULQ(stride, row)
		k.ADDQ(w, row)
		k.VBROADCASTSD(operand.Mem{Base: signs, Index: neg, Scale: 8, Disp: 8}, sign)
		for j, a := range acc {
			k.VFMADD231PD(operand.Mem{Base: row, Index: col, Scale: 8, Disp: 4 * k.w * j}, sign, a) // the product is exact
		}
		k.INCQ(i)
		k.CMPQ(i, count)
		k.JL(operand.LabelRef("row"))
		for j, a := range acc {
			k.VMOVUPD(a, operand.Mem{Base: dst, Index: col, Scale: 8, Disp: 4 * k.w * j})
		}
		k.ADDQ(imm(strip*k.w/2), col)
		k.CMPQ(col, n)
		k.JL(operand.LabelRef("strip"))
	})
	b.each("addRows", func(k *kernel) {
		dst, f, src, w := k.param("dst"), k.param("f"), k.param("src"), k.param("w")
		stride, rows, count, n := k.param("stride"), k.param("rows"), k.param("count"), k.param("n")
		k.SHLQ(operand.U8(2), stride)
		minus, one := math.Float64bits(-1), math.Float64bits(1)
		signs := k.GP64()
		k.LEAQ(k.table("signs", uint32(minus), uint32(minus>>32), uint32(one), uint32(one>>32)), signs)
		col, i, row, neg := k.GP64(), k.GP64(), k.GP64(), k.GP64()
		k.XORQ(col, col)
		sign := k.vec()
		acc := make([]reg.VecVirtual, strip)
		for j := range acc {
			acc[j] = k.vec()
		}
		k.Label("strip")
		for j, a := range acc {
			k.VMOVUPD(operand.Mem{Base: src, Index: col, Scale: 8, Disp: 4 * k.w * j}, a)
		}
		k.XORQ(i, i)
		k.Label("row")
		k.MOVLQSX(operand.Mem{Base: rows, Index: i, Scale: 4}, row)
		k.MOVQ(row, neg)
		k.SARQ(operand.U8(63), neg) // −1 if the row is subtracted
		k.XORQ(neg, row)
		k.IMULQ(stride, row)
		k.ADDQ(w, row)
		k.VBROADCASTSD(operand.Mem{Base: signs, Index: neg, Scale: 8, Disp: 8}, sign)
		for j, a := range acc {
			v := k.vec()
			k.VCVTPS2PD(at(row, col, 2*k.w*j), v)
			k.VFMADD231PD(v, sign, a) // the product is exact
		}
		k.INCQ(i)
		k.CMPQ(i, count)
		k.JL(operand.LabelRef("row"))
		for j, a := range acc {
			k.VMOVUPD(a, operand.Mem{Base: dst, Index: col, Scale: 8, Disp: 4 * k.w * j})
			h := k.half()
			if k.wide() {
				k.VCVTPD2PS(a, h)
			} else {
				k.VCVTPD2PSY(a, h)
			}
			k.VMOVUPS(h, at(f, col, 2*k.w*j))
		}
		k.ADDQ(imm(strip*k.w/2), col)
		k.CMPQ(col, n)
		k.JL(operand.LabelRef("strip"))
	})
}

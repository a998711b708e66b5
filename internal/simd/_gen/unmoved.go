package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unmoved writes the search for the first eight sites of which one changes.
func unmoved(b *builder) {
	b.each("unmoved", "func(odds *uint64, look, x *int32, words *uint32, n int) int",
		"is refUnmoved on n = 8k ≥ 1 sites.", findMoved)
}

func findMoved(k *kernel) {
	odds, look, x, words, n := k.param("odds"), k.param("look"), k.param("x"), k.param("words"), k.param("n")
	i := k.GP64()
	k.XORQ(i, i)
	var sign, one reg.VecVirtual
	if k.wide() {
		one = k.YMM()
		k.VMOVDQU(k.table("ones", 1, 1, 1, 1, 1, 1, 1, 1), one)
	} else {
		sign = k.YMM()
		k.VMOVDQU(k.table("signs", 0, 1<<31, 0, 1<<31, 0, 1<<31, 0, 1<<31), sign)
	}
	k.Label("loop")
	if k.wide() {
		idx, p, old := k.YMM(), k.ZMM(), k.YMM()
		all, ones, was := k.K(), k.K(), k.K()
		k.VMOVDQU(at(look, i, 0), idx)
		k.KXNORB(all, all, all)
		k.VPXORQ(p, p, p)
		k.VPGATHERDQ(operand.Mem{Base: odds, Index: idx, Scale: 8}, all, p)
		// p > u; the memory is the second operand
		k.VPCMPUQ(operand.U8(6), operand.Mem{Base: words, Index: i, Scale: 8}, p, ones)
		k.VMOVDQU(at(x, i, 0), old)
		k.VPTESTMD(one, old, was)
		k.KXORB(was, ones, ones)
		k.KORTESTB(ones, ones)
	} else {
		changed := k.GP32()
		for half := range 2 {
			idx, p, u, all := k.XMM(), k.YMM(), k.YMM(), k.YMM()
			k.VMOVDQU(at(look, i, 16*half), idx)
			k.VPCMPEQD(all, all, all)
			k.VPXOR(p, p, p)
			k.VPGATHERDQ(all, operand.Mem{Base: odds, Index: idx, Scale: 8}, p)
			k.VPXOR(operand.Mem{Base: words, Index: i, Scale: 8, Disp: 32 * half}, sign, u)
			k.VPXOR(sign, p, p)
			k.VPCMPGTQ(u, p, p) // p > u
			old, ones, was := k.XMM(), k.GP32(), k.GP32()
			k.VMOVMSKPD(p, ones)
			k.VMOVDQU(at(x, i, 16*half), old)
			k.VPSLLD(operand.U8(31), old, old)
			k.VMOVMSKPS(old, was)
			k.XORL(was, ones)
			if half == 0 {
				k.MOVL(ones, changed)
			} else {
				k.ORL(ones, changed)
			}
		}
		k.TESTL(changed, changed)
	}
	k.JNZ(operand.LabelRef("done"))
	k.ADDQ(imm(8), i)
	k.CMPQ(i, n)
	k.JL(operand.LabelRef("loop"))
	k.Label("done")
	k.Store(i, k.ReturnIndex(0))
}

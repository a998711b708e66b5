package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// push adds the changes of a site to the sums of its neighbours. The neighbours are in any order,
// and one may occur twice.
func (w *redrawer) push(changed func(same string) reg.VecVirtual) {
	k := w.k
	same, done := k.label("same"), k.label("pushed")
	by := changed(same)
	for side := range 2 {
		n, loop, rest := k.GP32(), k.label("push"), k.label("rest")
		k.MOVL(w.field(4+4*side), n)
		k.TESTL(n, n)
		k.JEQ(operand.LabelRef(rest))
		k.Label(loop)
		w.pushSome(w.near, by, side)
		k.ADDQ(imm(16), w.near)
		k.SUBL(imm(4), n)
		k.JNE(operand.LabelRef(loop))
		k.Label(rest)
	}
	k.JMP(operand.LabelRef(done))
	k.Label(same)
	n := k.GP64()
	k.MOVL(w.field(4), n.As32())
	k.ADDL(w.field(8), n.As32())
	k.LEAQ(operand.Mem{Base: w.near, Index: n, Scale: 4}, w.near)
	k.Label(done)
}

// pushSome adds by to the sums of four neighbours, or subtracts it, depending on side.
func (w *redrawer) pushSome(near reg.GPVirtual, by reg.VecVirtual, side int) {
	k := w.k
	for at := 0; at < 4; at += 2 {
		a, b := k.GP64(), k.GP64()
		k.MOVQ(operand.Mem{Base: near, Disp: 4 * at}, b)
		k.MOVL(b.As32(), a.As32())
		k.SHRQ(operand.U8(32), b)
		for _, i := range []reg.GPVirtual{a, b} {
			sum, m := k.YMM(), operand.Mem{Base: w.kept, Index: i, Scale: 1}
			if side == 0 {
				k.VPADDB(m, by, sum)
			} else {
				k.VMOVDQU(m, sum)
				k.VPSUBB(by, sum, sum)
			}
			k.VMOVDQU(sum, m)
		}
	}
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gridBits writes the kernels for lattices that are stored as one bit string, row by row.
func gridBits(b *builder) {
	b.each("gridBits", neighbourCounts)
	b.each("unpackBits", unpackBits)
}

// neighbourCounts adds four bits for each site: two from other rows, and two neighbours in the same
// row, which are at other positions at the ends of a row.
func neighbourCounts(k *kernel) {
	near, a, b := k.param("near"), k.param("a"), k.param("b")
	f := k.fetcher(k.param("own"), k.param("places"))
	regs := k.param("regs")
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	for half := 0; half < 64; half += 4 * k.w {
		at := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 1, Disp: half} }
		left := k.choose(at(a), f.fetch(2, at), f.fetch(3, at))
		right := k.choose(at(b), f.fetch(4, at), f.fetch(5, at))
		c := k.addFour(f.fetch(0, at), f.fetch(1, at), left, right)
		for p, v := range c {
			k.VMOVUPS(v, operand.Mem{Base: near, Disp: 64*p + half})
		}
	}
	k.ADDQ(imm(3*64), near)
	k.ADDQ(imm(64), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
}

// unpackBits converts bits to 32-bit numbers.
func unpackBits(k *kernel) {
	x, own, n := k.param("x"), k.param("own"), k.param("n")
	one := k.resident(1)
	places := k.vec()
	if !k.wide() {
		k.VMOVDQU(k.table("places", 0, 1, 2, 3, 4, 5, 6, 7), places)
	}
	k.Label("word")
	v := k.GP64()
	k.MOVL(operand.Mem{Base: own}, v.As32())
	for j := 0; j < 32; j += k.w {
		k.store(k.spread(v, one, places), operand.Mem{Base: x, Disp: 4 * j}, nil)
		if j+k.w < 32 {
			k.SHRQ(operand.U8(k.w), v)
		}
	}
	k.ADDQ(imm(4), own)
	k.ADDQ(imm(4*32), x)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("word"))
}

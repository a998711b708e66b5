package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// torusBits adds four bits a site: two of other rows, one of the same place, and
// the one beside it, which is another one at the ends of a row.
func torusBits(k *kernel) {
	count, own, near := k.param("count"), k.param("own"), k.param("near")
	rows, a, b, regs := k.param("rows"), k.param("a"), k.param("b"), k.param("regs")
	var from [6]reg.GPVirtual
	var right, left [6]reg.VecVirtual
	for j := range from {
		from[j] = k.GP64()
		k.MOVQ(operand.Mem{Base: near, Disp: 32 * j}, from[j])
		k.ADDQ(own, from[j])
		if k.wide() {
			right[j], left[j] = k.ZMM(), k.ZMM()
			k.VPBROADCASTQ(operand.Mem{Base: near, Disp: 32*j + 8}, right[j])
			k.VPBROADCASTQ(operand.Mem{Base: near, Disp: 32*j + 16}, left[j])
		}
	}
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	at := func(p reg.Register, disp int) operand.Mem {
		return operand.Mem{Base: p, Index: i, Scale: 1, Disp: disp}
	}
	fetch := func(j int) reg.VecVirtual {
		lo, hi := k.vec(), k.vec()
		k.VMOVUPS(at(from[j], 0), lo)
		k.VMOVUPS(at(from[j], 8), hi)
		if k.wide() {
			k.VPSRLVQ(right[j], lo, lo)
			k.VPSLLVQ(left[j], hi, hi)
			k.VPORQ(hi, lo, lo)
		} else {
			k.VPSRLQ(operand.Mem{Base: near, Disp: 32*j + 8}, lo, lo)
			k.VPSLLQ(operand.Mem{Base: near, Disp: 32*j + 16}, hi, hi)
			k.VPOR(hi, lo, lo)
		}
		return lo
	}
	// choose returns x where the mask is set, else y, which it overwrites.
	choose := func(m operand.Mem, x, y reg.VecVirtual) reg.VecVirtual {
		if k.wide() {
			k.VPTERNLOGQ(operand.U8(0xD8), m, x, y) // the mask is the last operand
			return y
		}
		k.VPXOR(y, x, x)
		k.VPAND(m, x, x)
		k.VPXOR(x, y, y)
		return y
	}
	side := choose(at(rows, 0), choose(at(a, 0), fetch(2), fetch(3)), choose(at(b, 0), fetch(4), fetch(5)))
	x, y, z := fetch(0), fetch(1), k.vec()
	k.VMOVUPS(at(own, 0), z)
	if k.wide() {
		odd, most, c1, c2 := k.vec(), k.vec(), k.vec(), k.vec()
		k.vmov(x, odd)
		k.VPTERNLOGQ(operand.U8(0x96), z, y, odd)
		k.vmov(x, most)
		k.VPTERNLOGQ(operand.U8(0xE8), z, y, most)
		k.VPANDQ(side, odd, c1) // the carry
		k.VPXORQ(side, odd, odd)
		k.VPANDQ(most, c1, c2)
		k.VPXORQ(most, c1, c1)
		k.VMOVUPS(odd, at(count, 0))
		k.VMOVUPS(c1, at(count, plane))
		k.VMOVUPS(c2, at(count, 2*plane))
	} else {
		t, odd, most := k.vec(), k.vec(), k.vec()
		k.VPXOR(y, x, t)
		k.VPAND(y, x, most)
		k.VPXOR(z, t, odd)
		k.VPAND(z, t, t)
		k.VPOR(t, most, most)
		k.VPAND(side, odd, t)
		k.VPXOR(side, odd, odd)
		k.VMOVUPS(odd, at(count, 0))
		k.VPXOR(most, t, odd)
		k.VPAND(most, t, t)
		k.VMOVUPS(odd, at(count, plane))
		k.VMOVUPS(t, at(count, 2*plane))
	}
	k.ADDQ(imm(4*k.w), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
}

// spreadBits makes 32-bit numbers of the bits of two strings in turn, which
// change places from row to row.
func spreadBits(k *kernel) {
	x, even, odd, bit := k.param("x"), k.param("even"), k.param("odd"), k.param("bit")
	n, rows := k.param("n"), k.param("rows")
	evens, odds := k.GP64(), k.GP64()
	k.MOVQ(operand.U64(0x5555555555555555), evens)
	k.MOVQ(operand.U64(0xAAAAAAAAAAAAAAAA), odds)
	one := k.resident(1)
	places := k.vec()
	if !k.wide() {
		k.VMOVDQU(k.table("places", 0, 1, 2, 3, 4, 5, 6, 7), places)
	}
	left, v, w, at := k.GP64(), k.GP64(), k.GP64(), k.GP64()
	k.Label("row")
	k.MOVQ(n, left)
	k.Label("pairs")
	// 32 bits of both strings from bit on: the eight bytes around have them.
	for _, s := range []struct{ from, to, mask reg.GPVirtual }{{even, v, evens}, {odd, w, odds}} {
		k.MOVQ(bit, at)
		k.SHRQ(operand.U8(3), at)
		k.MOVQ(operand.Mem{Base: s.from, Index: at, Scale: 1}, s.to)
		k.MOVQ(bit, at)
		k.ANDQ(operand.I8(7), at)
		k.SHRXQ(at, s.to, s.to)
		k.PDEPQ(s.mask, s.to, s.to)
	}
	k.ORQ(w, v)
	k.CMPQ(left, operand.I8(32))
	k.JL(operand.LabelRef("few"))
	for j := 0; j < 64; j += k.w {
		k.store(k.spread(v, one, places), operand.Mem{Base: x, Disp: 4 * j}, nil)
		if j+k.w < 64 {
			k.SHRQ(operand.U8(k.w), v)
		}
	}
	k.ADDQ(imm(256), x)
	k.ADDQ(imm(32), bit)
	k.SUBQ(imm(32), left)
	k.JNZ(operand.LabelRef("pairs"))
	k.JMP(operand.LabelRef("next"))
	k.Label("few")
	// fewer than 32 pairs: whole registers, then a part of one
	k.ADDQ(left, bit)
	k.SHLQ(operand.U8(1), left)
	k.Label("registers")
	k.CMPQ(left, operand.I8(int8(k.w)))
	k.JL(operand.LabelRef("part"))
	k.store(k.spread(v, one, places), operand.Mem{Base: x}, nil)
	k.SHRQ(operand.U8(k.w), v)
	k.ADDQ(imm(4*k.w), x)
	k.SUBQ(imm(k.w), left)
	k.JMP(operand.LabelRef("registers"))
	k.Label("part")
	k.TESTQ(left, left)
	k.JZ(operand.LabelRef("next"))
	k.LEAQ(operand.Mem{Base: x, Index: left, Scale: 4}, w)
	k.store(k.spread(v, one, places), operand.Mem{Base: x}, k.leading(left))
	k.MOVQ(w, x)
	k.Label("next")
	k.XCHGQ(even, odd)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
}

// spread returns the lowest bits of v, a number each.
func (k *kernel) spread(v reg.GPVirtual, one, places reg.VecVirtual) reg.VecVirtual {
	r := k.vec()
	if k.wide() {
		m := k.K()
		k.KMOVW(v.As32(), m)
		k.VMOVDQA32_Z(one, m, r)
		return r
	}
	k.VMOVD(v.As32(), r.AsX())
	k.VPBROADCASTD(r.AsX(), r)
	k.VPSRLVD(places, r, r)
	k.VPAND(one, r, r)
	return r
}

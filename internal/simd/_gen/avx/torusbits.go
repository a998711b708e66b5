package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fetcher shifts a bit string so that the neighbours at six positions are aligned with the sites.
type fetcher struct {
	k      *kernel
	places reg.GPVirtual
	from   [6]reg.GPVirtual
	// Shifts of each position, with AVX-512; AVX2 has no registers for them.
	right, left [6]reg.VecVirtual
}

// fetcher returns a fetcher for the string own. places points, for each position, to the offset in
// bytes, the right shift, and the left shift of the next word.
func (k *kernel) fetcher(own, places reg.GPVirtual) *fetcher {
	f := &fetcher{k: k, places: places}
	for j := range f.from {
		f.from[j] = k.GP64()
		k.MOVQ(operand.Mem{Base: places, Disp: 32 * j}, f.from[j])
		k.ADDQ(own, f.from[j])
		if k.wide() {
			f.right[j], f.left[j] = k.ZMM(), k.ZMM()
			k.VPBROADCASTQ(operand.Mem{Base: places, Disp: 32*j + 8}, f.right[j])
			k.VPBROADCASTQ(operand.Mem{Base: places, Disp: 32*j + 16}, f.left[j])
		}
	}
	return f
}

// fetch returns the neighbours at position j of the sites at the address at.
func (f *fetcher) fetch(j int, at func(p reg.Register) operand.Mem) reg.VecVirtual {
	lo, hi := f.k.vec(), f.k.vec()
	f.k.VMOVUPS(at(f.from[j]), lo)
	f.k.VMOVUPS(at(f.from[j]).Offset(8), hi)
	if f.k.wide() {
		f.k.VPSRLVQ(f.right[j], lo, lo)
		f.k.VPSLLVQ(f.left[j], hi, hi)
		f.k.VPORQ(hi, lo, lo)
	} else {
		f.k.VPSRLQ(operand.Mem{Base: f.places, Disp: 32*j + 8}, lo, lo)
		f.k.VPSLLQ(operand.Mem{Base: f.places, Disp: 32*j + 16}, hi, hi)
		f.k.VPOR(hi, lo, lo)
	}
	return lo
}

// choose returns x where the mask m is set, and y elsewhere. It overwrites y.
func (k *kernel) choose(m operand.Mem, x, y reg.VecVirtual) reg.VecVirtual {
	if k.wide() {
		k.VPTERNLOGQ(operand.U8(0xD8), m, x, y) // the mask is the last operand
		return y
	}
	k.VPXOR(y, x, x)
	k.VPAND(m, x, x)
	k.VPXOR(x, y, y)
	return y
}

// addFour adds four bits in each position and returns the binary digits of the sums.
func (k *kernel) addFour(x, y, z, side reg.VecVirtual) [3]reg.VecVirtual {
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
		return [3]reg.VecVirtual{odd, c1, c2}
	}
	t, odd, most, c1 := k.vec(), k.vec(), k.vec(), k.vec()
	k.VPXOR(y, x, t)
	k.VPAND(y, x, most)
	k.VPXOR(z, t, odd)
	k.VPAND(z, t, t)
	k.VPOR(t, most, most)
	k.VPAND(side, odd, t)
	k.VPXOR(side, odd, odd)
	k.VPXOR(most, t, c1)
	k.VPAND(most, t, t)
	return [3]reg.VecVirtual{odd, c1, t}
}

// torusBits adds four bits for each site: two from other rows, one at the same position, and one
// neighbour that is at another position at the ends of a row.
func torusBits(k *kernel) {
	count, own := k.param("count"), k.param("own")
	f := k.fetcher(own, k.param("near"))
	rows, a, b, regs := k.param("rows"), k.param("a"), k.param("b"), k.param("regs")
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	at := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 1} }
	side := k.choose(at(rows), k.choose(at(a), f.fetch(2, at), f.fetch(3, at)), k.choose(at(b), f.fetch(4, at), f.fetch(5, at)))
	x, y, z := f.fetch(0, at), f.fetch(1, at), k.vec()
	k.VMOVUPS(at(own), z)
	for p, v := range k.addFour(x, y, z, side) {
		k.VMOVUPS(v, at(count).Offset(plane*p))
	}
	k.ADDQ(imm(4*k.w), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
}

// spreadBits converts alternating bits of two strings to 32-bit numbers. The strings are exchanged
// in every other row.
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
	// Load 32 bits of both strings, starting at bit. The eight bytes at its byte address contain
	// them.
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
	// For fewer than 32 pairs, store whole registers and then a part of one.
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

// spread converts the lowest bits of v to numbers, one per lane.
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

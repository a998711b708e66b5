package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func random(b *builder) {
	b.each("philox", philox)
	b.each("unit32", unit32)
	b.each("unit64", unit64)
}

// philox writes the generator. Each 32-bit word of the state is in a 64-bit lane, whose upper half
// may hold anything: the multiplier ignores it, and the high word of a product needs one shift.
// Even and odd counters are in separate registers, so that one blend per output word restores the
// order.
func philox(k *kernel) {
	dst, groups := k.param("dst"), k.param("groups")
	per := k.w // number of counters per pass
	c := k.philox(k.constant64(0xD2511F53), k.constant64(0xCD9E8D57))
	base := k.splat64(k.param("counter"))
	offsets, one, sixteen := k.counters()
	merge := k.oddLanes()
	// draw stores n groups. With AVX-512 these are two at a time, because out-of-order execution
	// looks ahead by less than a group.
	draw := func(n int) {
		for pass := 0; pass < 16/per; pass++ {
			var counters []reg.VecVirtual
			for g := range n {
				even, odd := k.vec(), k.vec()
				k.VPADDQ(offsets.Offset(pass*32), base, even)
				if g > 0 {
					k.VPADDQ(sixteen, even, even)
				}
				k.VPADDQ(one, even, odd)
				counters = append(counters, even, odd)
			}
			chain := c.blocks(counters...)
			for g := range n {
				for w := range 4 {
					out := operand.Mem{Base: dst, Disp: 256*g + 64*w + 32*pass}
					k.VMOVUPS(k.interleave(chain[2*g][w], chain[2*g+1][w], merge), out)
				}
			}
		}
		for range n {
			k.VPADDQ(sixteen, base, base)
		}
		k.ADDQ(imm(256*n), dst)
	}
	if k.wide() {
		k.Label("pair")
		k.SUBQ(imm(2), groups)
		k.JL(operand.LabelRef("last"))
		draw(2)
		k.JMP(operand.LabelRef("pair"))
		k.Label("last")
		k.ADDQ(imm(2), groups)
		k.JZ(operand.LabelRef("done"))
		draw(1)
		k.Label("done")
		return
	}
	k.Label("group")
	draw(1)
	k.DECQ(groups)
	k.JNZ(operand.LabelRef("group"))
}

// counters returns the lane offsets of the even counters of a group, the difference to the odd
// ones, and the number of counters of a group.
func (k *kernel) counters() (offsets, one, sixteen operand.Mem) {
	even, ones, steps := []uint32{}, []uint32{}, []uint32{}
	for i := range 8 {
		even, ones, steps = append(even, uint32(2*i), 0), append(ones, 1, 0), append(steps, 16, 0)
	}
	return k.table("even", even...), k.table("one", ones...), k.table("sixteen", steps...)
}

// philoxGroup returns a function that stores the words of the next group of a stream, starting at
// the parameter counter. It requires AVX-512.
func (k *kernel) philoxGroup(to operand.Mem) func() {
	c := k.philox(k.constant64(0xD2511F53), k.constant64(0xCD9E8D57))
	base := k.splat64(k.param("counter"))
	offsets, one, sixteen := k.counters()
	merge := k.oddLanes()
	return func() {
		even, odd := k.ZMM(), k.ZMM()
		k.VPADDQ(offsets, base, even)
		k.VPADDQ(one, even, odd)
		k.VPADDQ(sixteen, base, base)
		chain := c.blocks(even, odd)
		for w := range 4 {
			k.VMOVUPS(k.interleave(chain[0][w], chain[1][w], merge), to.Offset(64*w))
		}
	}
}

// oddLanes returns the mask of the odd 32-bit lanes, which AVX2 does not need.
func (k *kernel) oddLanes() (m reg.OpmaskVirtual) {
	if k.wide() {
		m = k.K()
		g := k.GP32()
		k.MOVL(operand.U32(0xAAAA), g)
		k.KMOVW(g, m)
	}
	return m
}

// interleave returns the lower halves of the 64-bit lanes of even and odd, alternating.
func (k *kernel) interleave(even, odd reg.VecVirtual, oddLanes reg.OpmaskVirtual) reg.VecVirtual {
	if k.wide() {
		k.VMOVSLDUP(odd, oddLanes, even)
	} else {
		k.VPSLLQ(operand.U8(32), odd, odd)
		k.VPBLENDD(operand.U8(0xAA), odd, even, even)
	}
	return even
}

// splat64 copies a number to every 64-bit lane of a new register.
func (k *kernel) splat64(v reg.GPVirtual) reg.VecVirtual {
	r := k.vec()
	if k.wide() {
		k.VPBROADCASTQ(v, r)
	} else {
		x := k.XMM()
		k.MOVQ(v, x)
		k.VPBROADCASTQ(x, r)
	}
	return r
}

// constant64 returns a register with the constant v in every 64-bit lane.
func (k *kernel) constant64(v uint32) reg.VecVirtual {
	g := k.GP64()
	k.MOVQ(operand.U64(uint64(v)), g)
	return k.splat64(g)
}

// state is the state of Philox: one word in each register.
type state [4]reg.VecVirtual

// philoxBlocks computes Philox at counters of one stream.
type philoxBlocks struct {
	k          *kernel
	mul0, mul1 operand.Op
	keys       reg.GPVirtual
	// to0 and to2 are the terms that the first round adds modulo 2 to words 0 and 2; they depend on
	// the stream and the keys. next0 is the term that the second round adds to word 0. All are in
	// memory.
	to0, to2, next0 operand.Mem
}

// philox returns a philoxBlocks for the parameters keys and stream.
func (k *kernel) philox(mul0, mul1 operand.Op) *philoxBlocks {
	p := &philoxBlocks{k: k, mul0: mul0, mul1: mul1, keys: k.param("keys")}
	stream := k.param("stream")
	next0 := k.splat64(stream)
	k.VPMULUDQ(mul1, next0, next0)
	k.SHRQ(operand.U8(32), stream)
	to0, to2, zero := k.vec(), k.splat64(stream), k.vec()
	k.clear(zero)
	k.VMOVSHDUP(next0, to0)
	k.xorKey(to0, zero, operand.Mem{Base: p.keys})
	k.xorKey(to2, zero, operand.Mem{Base: p.keys, Disp: 4})
	k.xorKey(next0, zero, operand.Mem{Base: p.keys, Disp: 8})
	local := k.AllocLocal(3 * 4 * k.w)
	p.to0, p.to2, p.next0 = local, local.Offset(4*k.w), local.Offset(8*k.w)
	k.VMOVUPS(to0, p.to0)
	k.VMOVUPS(to2, p.to2)
	k.VMOVUPS(next0, p.next0)
	return p
}

// blocks performs the ten rounds at the given counters, alternating registers of even and odd
// counters, which it overwrites. A word is in the lower half of a 64-bit lane. An even counter and
// the following odd one have the same upper halves. Therefore all words but 2 and 3 are the same
// after the first round, and word 3 after the second.
func (p *philoxBlocks) blocks(counters ...reg.VecVirtual) (chain []state) {
	k := p.k
	xor := func(a operand.Op, b reg.VecVirtual) {
		if k.wide() {
			k.VPXORQ(a, b, b)
		} else {
			k.VPXOR(a, b, b)
		}
	}
	var word0, high0 reg.VecVirtual
	for c, low := range counters {
		if c%2 == 0 {
			word0, high0 = k.vec(), k.vec()
			k.VMOVSHDUP(low, word0)
			xor(p.to0, word0)
			k.VPMULUDQ(p.mul0, word0, word0)
			k.VMOVSHDUP(word0, high0)
		}
		k.VPMULUDQ(p.mul0, low, low)
		word2, t := k.vec(), k.vec()
		k.VMOVSHDUP(low, word2)
		xor(p.to2, word2)
		k.VPMULUDQ(p.mul1, word2, word2)
		k.VMOVSHDUP(word2, t)
		xor(p.next0, t)
		k.xorKey(low, high0, operand.Mem{Base: p.keys, Disp: 12})
		chain = append(chain, state{t, word2, low, word0})
	}
	k.rounds(chain, p.mul0, p.mul1, p.keys)
	return chain
}

// rounds performs the rounds from the third on.
func (k *kernel) rounds(chain []state, mul0, mul1 operand.Op, keys reg.GPVirtual) {
	for r := 2; r < 10; r++ {
		for c := range chain {
			s := &chain[c]
			k.VPMULUDQ(mul0, s[0], s[0])
			k.VPMULUDQ(mul1, s[2], s[2])
			t := k.vec()
			k.VMOVSHDUP(s[2], t)
			k.xorKey(t, s[1], operand.Mem{Base: keys, Disp: 8 * r})
			k.VMOVSHDUP(s[0], s[1])
			k.xorKey(s[1], s[3], operand.Mem{Base: keys, Disp: 8*r + 4})
			*s = state{t, s[2], s[1], s[0]}
		}
	}
}

func (k *kernel) vmov(from, to reg.VecVirtual) {
	if k.wide() {
		k.VMOVDQA32(from, to)
	} else {
		k.VMOVDQA(from, to)
	}
}

// xorKey computes a ^= b ^ key, where key is a word in memory.
func (k *kernel) xorKey(a, b reg.VecVirtual, key operand.Mem) {
	if k.wide() {
		k.VPTERNLOGD_BCST(operand.U8(0x96), key, b, a)
		return
	}
	t := k.YMM()
	k.VPBROADCASTD(key, t)
	k.VPXOR(b, a, a)
	k.VPXOR(t, a, a)
}

func unit32(k *kernel) {
	dst, bits, n := k.param("dst"), k.param("bits"), k.param("n")
	ulp := k.f32(0x1p-24)
	k.stream(n, func(i reg.GPVirtual, sel *mask) {
		x := k.shr(k.load(at(bits, i, 0), sel), 8)
		k.VCVTDQ2PS(x, x)
		k.store(k.mul(x, ulp), at(dst, i, 0), sel)
	})
}

// unit64 converts 8 numbers per turn. AVX2 cannot convert 64-bit integers: the halves become the
// low mantissa bits of 2⁸⁴ and 2⁵², whose difference is exact.
func unit64(k *kernel) {
	dst, bits, n := k.param("dst"), k.param("bits"), k.param("n")
	per := k.w / 2
	load := func(name string, hi, lo uint32) reg.VecVirtual {
		r := k.vec()
		k.VPBROADCASTQ(k.table(name, lo, hi), r)
		return r
	}
	ulp := load("ulp53", 0x3ca00000, 0)
	var high, low, both reg.VecVirtual
	if !k.wide() {
		high, low = load("two84", 0x45300000, 0), load("two52", 0x43300000, 0)
		both = load("two84and52", 0x45300000, 0x00100000)
	}
	k.Label("loop")
	v := k.vec()
	k.VMOVUPS(operand.Mem{Base: bits}, v)
	k.VPSRLQ(operand.U8(11), v, v)
	if k.wide() {
		k.VCVTUQQ2PD(v, v)
	} else {
		h := k.vec()
		k.VPSRLQ(operand.U8(32), v, h)
		k.VPOR(high, h, h)
		k.VPBLENDD(operand.U8(0xAA), low, v, v)
		k.VSUBPD(both, h, h)
		k.VADDPD(h, v, v)
	}
	k.VMULPD(ulp, v, v)
	k.VMOVUPS(v, operand.Mem{Base: dst})
	k.ADDQ(imm(8*per), bits)
	k.ADDQ(imm(8*per), dst)
	k.SUBQ(imm(per), n)
	k.JNZ(operand.LabelRef("loop"))
}

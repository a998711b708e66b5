package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chainbits writes the kernels for lanes of 32 chains, one site per lane.
func chainbits(b *builder) {
	b.each("graphBits", graphBits)
	b.each("tallyBits", tallyBits)
	b.each("spreadChains", spreadChains)
	b.each("joinMarks", joinMarks)
}

// gather loads 32-bit lanes at the indices idx.
func (k *kernel) gather(from, idx reg.Register) reg.VecVirtual {
	r := k.vec()
	k.clear(r)
	m := operand.Mem{Base: from, Index: idx, Scale: 4}
	if k.wide() {
		all := k.K()
		k.KXNORW(all, all, all)
		k.VPGATHERDD(m, all, r)
		return r
	}
	all := k.vec()
	k.VPCMPEQD(all, all, all)
	k.VPGATHERDD(all, m, r)
	return r
}

func graphBits(k *kernel) {
	count, own, near := k.param("count"), k.param("own"), k.param("near")
	n, degree := k.param("n"), k.param("degree")
	stride := k.GP64()
	k.MOVQ(n, stride)
	k.SHLQ(operand.U8(2), stride)
	k.Label("lanes")
	var c [3]reg.VecVirtual
	for b := range c {
		c[b] = k.vec()
		k.clear(c[b])
	}
	at, left := k.GP64(), k.GP64()
	k.MOVQ(near, at)
	k.MOVQ(degree, left)
	k.TESTQ(left, left)
	k.JZ(operand.LabelRef("store"))
	k.Label("neighbour")
	idx, flip, t := k.vec(), k.vec(), k.vec()
	k.VMOVUPS(operand.Mem{Base: at}, idx)
	k.VPSRAD(operand.U8(31), idx, flip)
	k.VPADDD(idx, idx, idx)
	k.VPSRLD(operand.U8(1), idx, idx)
	v := k.gather(own, idx)
	if k.wide() {
		k.VPXORQ(flip, v, v)
		k.VPANDQ(v, c[0], t)
		k.VPXORQ(v, c[0], c[0])
		k.VPANDQ(t, c[1], v)
		k.VPXORQ(t, c[1], c[1])
		k.VPXORQ(v, c[2], c[2])
	} else {
		k.VPXOR(flip, v, v)
		k.VPAND(v, c[0], t)
		k.VPXOR(v, c[0], c[0])
		k.VPAND(t, c[1], v)
		k.VPXOR(t, c[1], c[1])
		k.VPXOR(v, c[2], c[2])
	}
	k.ADDQ(stride, at)
	k.DECQ(left)
	k.JNZ(operand.LabelRef("neighbour"))
	k.Label("store")
	for b := range c {
		k.VMOVUPS(c[b], operand.Mem{Base: count, Disp: plane * b})
	}
	k.ADDQ(imm(4*k.w), count)
	k.ADDQ(imm(4*k.w), near)
	k.SUBQ(imm(k.w), n)
	k.JNZ(operand.LabelRef("lanes"))
}

// tallyBits writes the kernel that counts in bytes, one per chain, so that lanes are added one by
// one.
func tallyBits(k *kernel) {
	out, now, old, count, n := k.param("t"), k.param("now"), k.param("old"), k.param("count"), k.param("n")
	var acc [5]reg.VecVirtual // up, moved, and the digits of the sum
	for j := range acc {
		acc[j] = k.YMM()
		k.VPXOR(acc[j], acc[j], acc[j])
	}
	ones, order := k.YMM(), k.YMM()
	bytes := func(v uint32) []uint32 { return []uint32{v, v, v, v, v, v, v, v} }
	if k.wide() {
		k.VMOVDQU(k.table("ones", bytes(0x01010101)...), ones)
	} else {
		// For byte c, select the byte of the lane that holds bit c, and then mask that bit.
		k.VMOVDQU(k.table("order", 0, 0, 0x01010101, 0x01010101, 0x02020202, 0x02020202, 0x03030303, 0x03030303), order)
		k.VMOVDQU(k.table("digits", 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010), ones)
	}
	add := func(v reg.GPVirtual, j int) {
		if k.wide() {
			m := k.K()
			k.KMOVD(v, m)
			k.VPADDB(ones, acc[j], m, acc[j])
			return
		}
		x := k.XMM()
		y := k.YMM()
		k.VMOVD(v, x)
		k.VPBROADCASTD(x, y)
		k.VPSHUFB(order, y, y)
		k.VPAND(ones, y, y)
		k.VPCMPEQB(ones, y, y)
		k.VPSUBB(y, acc[j], acc[j])
	}
	k.Label("lane")
	a, changed, t := k.GP32(), k.GP32(), k.GP32()
	k.MOVL(operand.Mem{Base: now}, a)
	k.MOVL(operand.Mem{Base: old}, changed)
	k.XORL(a, changed)
	add(changed, 1)
	k.MOVL(a, t)
	k.ANDL(changed, t)
	add(t, 0)
	k.NOTL(a)
	for b := range 3 {
		u := k.GP32()
		k.MOVL(operand.Mem{Base: count, Disp: plane * b}, u)
		k.XORL(a, u)
		k.ANDL(changed, u)
		add(u, 2+b)
	}
	k.ADDQ(imm(4), now)
	k.ADDQ(imm(4), old)
	k.ADDQ(imm(4), count)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("lane"))
	for part := 0; part < 32; part += 8 {
		wide := func(j int) reg.VecVirtual {
			r, x := k.YMM(), acc[j].AsX()
			if part >= 16 {
				x = k.XMM()
				k.VEXTRACTI128(operand.U8(1), acc[j], x)
			}
			if part%16 == 8 {
				h := k.XMM()
				k.VPSRLDQ(operand.U8(8), x, h)
				x = h
			}
			k.VPMOVZXBD(x, r)
			return r
		}
		to := func(field int) operand.Mem { return operand.Mem{Base: out, Disp: 128*field + 4*part} }
		sum := wide(2)
		for b := 1; b < 3; b++ {
			d := wide(2 + b)
			k.VPSLLD(operand.U8(b), d, d)
			k.VPADDD(d, sum, sum)
		}
		for field, v := range []reg.VecVirtual{wide(0), wide(1), sum} {
			k.VPADDD(to(field), v, v)
			k.VMOVDQU(v, to(field))
		}
	}
}

func spreadChains(k *kernel) {
	x, own, place := k.param("x"), k.param("own"), k.param("place")
	n, chains, stride := k.param("n"), k.param("chains"), k.param("stride")
	one := k.resident(1)
	k.stream(n, func(i reg.GPVirtual, sel *mask) {
		v := k.gather(own, k.load(at(place, i, 0), sel))
		to, left, loop := k.GP64(), k.GP64(), k.label("chain")
		k.LEAQ(at(x, i, 0), to)
		k.MOVQ(chains, left)
		k.Label(loop)
		t := k.vec()
		if k.wide() {
			k.VPANDQ(one, v, t)
		} else {
			k.VPAND(one, v, t)
		}
		k.store(t, operand.Mem{Base: to}, sel)
		k.VPSRLD(operand.U8(1), v, v)
		k.ADDQ(stride, to)
		k.DECQ(left)
		k.JNZ(operand.LabelRef(loop))
	})
}

// joinMarks visits the sites one after the other, and the neighbours of each in turn.
func joinMarks(k *kernel) {
	grew, in, may := k.param("grew"), k.param("in"), k.param("may")
	start, adj := k.param("start"), k.param("adj")
	i, n, step := k.param("first"), k.param("n"), k.param("step")
	halves := 64 / (4 * k.w)
	var acc, v [2]reg.VecVirtual
	for h := range halves {
		acc[h], v[h] = k.vec(), k.vec()
		k.VMOVUPS(operand.Mem{Base: grew, Disp: 4 * k.w * h}, acc[h])
	}
	site, at, end, near := k.GP64(), k.GP64(), k.GP64(), k.GP64()
	k.Label("site")
	k.MOVQ(i, site)
	k.SHLQ(operand.U8(6), site)
	for h := range halves {
		k.VMOVUPS(operand.Mem{Base: in, Index: site, Scale: 1, Disp: 4 * k.w * h}, v[h])
	}
	k.MOVLQSX(operand.Mem{Base: start, Index: i, Scale: 4}, at)
	k.MOVLQSX(operand.Mem{Base: start, Index: i, Scale: 4, Disp: 4}, end)
	k.CMPQ(at, end)
	k.JGE(operand.LabelRef("store"))
	k.Label("neighbour")
	k.MOVLQSX(operand.Mem{Base: adj, Index: at, Scale: 4}, near)
	k.SHLQ(operand.U8(6), near)
	for h := range halves {
		k.merge(v[h], operand.Mem{Base: in, Index: near, Scale: 1, Disp: 4 * k.w * h})
	}
	k.INCQ(at)
	k.CMPQ(at, end)
	k.JL(operand.LabelRef("neighbour"))
	k.Label("store")
	for h := range halves {
		own := operand.Mem{Base: in, Index: site, Scale: 1, Disp: 4 * k.w * h}
		all := k.and(v[h], operand.Mem{Base: may, Index: site, Scale: 1, Disp: 4 * k.w * h})
		k.merge(acc[h], k.xor(all, own))
		k.VMOVUPS(all, own)
	}
	k.ADDQ(step, i)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("site"))
	for h := range halves {
		k.VMOVUPS(acc[h], operand.Mem{Base: grew, Disp: 4 * k.w * h})
	}
}

// merge adds the bits of m to those of r.
func (k *kernel) merge(r reg.VecVirtual, m operand.Op) {
	if k.wide() {
		k.VPORQ(m, r, r)
	} else {
		k.VPOR(m, r, r)
	}
}

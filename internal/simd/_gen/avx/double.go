package avx

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp64Consts holds the constants of Exp, in registers with AVX-512.
type exp64Consts struct {
	log2e, magic, hi, lo, one operand.Op
	c                         []operand.Op
}

func (k *kernel) exp64Consts() exp64Consts {
	e := exp64Consts{
		log2e: k.f64("log2e", 1.44269504088896340736), magic: k.f64("magic", 0x1.8p52+1023),
		hi: k.f64("ln2hi", 0x1.62e42feep-1), lo: k.f64("ln2lo", 0x1.a39ef35793c76p-33), one: k.f64("one", 1),
	}
	for i, c := range []float64{
		0x1.ad7f7ab7e5348p-26, 0x1.28ad68e9a9c1ep-22, 0x1.71df253aba7cep-19, 0x1.a0199a16991bdp-16,
		0x1.a01a012a6949bp-13, 0x1.6c16c18426863p-10, 0x1.1111111127b9dp-07, 0x1.555555555088bp-05,
		0x1.55555555554fap-03, 0x1.000000000000ap-01,
	} {
		e.c = append(e.c, k.f64("exp"+string(rune('a'+i)), c))
	}
	return e
}

// exp64 computes Exp for arguments in [−708, 709] and NaN. The fused product is exact.
func (k *kernel) exp64(c exp64Consts, x reg.VecVirtual) reg.VecVirtual {
	t, n, r, q := k.vec(), k.vec(), k.vec(), k.vec()
	k.VMULPD(c.log2e, x, t)
	k.VADDPD(c.magic, t, t)
	k.VSUBPD(c.magic, t, n)
	k.vmov(x, r)
	k.VFNMADD231PD(c.hi, n, r)
	k.VMULPD(c.lo, n, n)
	k.VSUBPD(n, r, r)
	k.VMULPD(c.c[0], r, q)
	for i, ci := range c.c[1:] {
		k.VADDPD(ci, q, q)
		if i < len(c.c)-2 {
			k.VMULPD(r, q, q)
		}
	}
	k.VMULPD(r, r, n)
	k.VMULPD(n, q, q)
	k.VADDPD(r, q, q)
	k.VADDPD(c.one, q, q)
	k.VPSLLQ(operand.U8(52), t, t)
	k.VMULPD(t, q, q)
	return q
}

func double(b *builder) {
	b.each("softplus", func(k *kernel) {
		product, positive, x, n := k.param("product"), k.param("positive"), k.param("x"), k.param("n")
		c := k.exp64Consts()
		sign, cut, zero := k.u64("sign", 1<<63), k.f64("cut", -708), k.vec()
		k.clear(zero)
		i := k.GP64()
		k.XORQ(i, i)
		var prod, pos []reg.VecVirtual
		parts := 32 / k.w
		if k.wide() {
			for j := range parts {
				prod = append(prod, k.load(operand.Mem{Base: product, Disp: 4 * k.w * j}, nil))
				pos = append(pos, k.load(operand.Mem{Base: positive, Disp: 4 * k.w * j}, nil))
			}
		}
		k.Label("loop")
		for j := range parts {
			z, a, p := k.vec(), k.vec(), k.vec()
			k.VCVTPS2PD(at(x, i, 2*k.w*j), z)
			k.VMAXPD(zero, z, p)
			k.VORPD(sign, z, z)
			k.VMOVUPD(cut, a)
			k.VMAXPD(z, a, a)
			e := k.exp64(c, a)
			k.VADDPD(c.one, e, e)
			if k.wide() {
				k.VADDPD(p, pos[j], pos[j])
				k.VMULPD(e, prod[j], prod[j])
			} else {
				out := operand.Mem{Base: positive, Disp: 4 * k.w * j}
				k.VADDPD(out, p, p)
				k.VMOVUPD(p, out)
				out.Base = product
				k.VMULPD(out, e, e)
				k.VMOVUPD(e, out)
			}
		}
		k.ADDQ(imm(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
		for j := range prod {
			k.store(prod[j], operand.Mem{Base: product, Disp: 4 * k.w * j}, nil)
			k.store(pos[j], operand.Mem{Base: positive, Disp: 4 * k.w * j}, nil)
		}
	})
	b.each("expGather", func(k *kernel) {
		dst, w, idx, n := k.param("dst"), k.param("w"), k.param("idx"), k.param("n")
		shift, top := k.vec(), k.vec()
		k.broadcast("shift", shift)
		scale, magic, part := k.f64("exp16", 0x1.71547652b82fep+4), k.f64("magic52", 0x1.8p52), k.f64("ln2by16", 0x1.62e42fefa39efp-5)
		cut, high, one := k.f64("cut", -708), k.f64("high", 709), k.f64("one", 1)
		coef := []operand.Op{k.f64("t5", 1./120), k.f64("t4", 1./24), k.f64("t3", 1./6), k.f64("t2", 1./2), one, one}
		words := k.table("sixteenths", sixteenths()...)
		low := k.u64("low4", 15)
		var table [2]reg.VecVirtual
		base := k.GP64()
		if k.wide() {
			for i := range table {
				table[i] = k.load(words.Offset(64*i), nil)
			}
		} else {
			k.LEAQ(words, base)
		}
		k.clear(top)
		i, ahead, last := k.GP64(), k.GP64(), k.GP64()
		k.MOVQ(n, last)
		k.DECQ(last)
		k.XORQ(i, i)
		k.Label("loop")
		k.LEAQ(operand.Mem{Base: i, Disp: gatherAhead}, ahead)
		k.CMPQ(ahead, last)
		k.CMOVQGT(last, ahead)
		k.MOVLQSX(operand.Mem{Base: idx, Index: ahead, Scale: 4}, ahead)
		k.PREFETCHT0(operand.Mem{Base: w, Index: ahead, Scale: 4})
		at32, v, x, t, r, q, e := k.half(), k.half(), k.vec(), k.vec(), k.vec(), k.vec(), k.vec()
		k.VMOVUPS(at(idx, i, 0), at32)
		if k.wide() {
			all := k.K()
			k.KXNORB(all, all, all)
			k.VXORPS(v, v, v)
			k.VGATHERDPS(operand.Mem{Base: w, Index: at32, Scale: 4}, all, v)
		} else {
			all := k.half()
			k.VPCMPEQD(all, all, all)
			k.VXORPS(v, v, v)
			k.VGATHERDPS(all, operand.Mem{Base: w, Index: at32, Scale: 4}, v)
		}
		k.VCVTPS2PD(v, x)
		k.VSUBPD(shift, x, x)
		k.VMAXPD(top, x, top) // top where x is NaN
		k.VMULPD(scale, x, t)
		k.VADDPD(magic, t, t)
		k.VSUBPD(magic, t, r)
		k.VMULPD(part, r, r)
		k.VSUBPD(r, x, r)
		k.VMULPD(coef[0], r, q)
		for j, c := range coef[1:] {
			k.VADDPD(c, q, q)
			if j < len(coef)-2 {
				k.VMULPD(r, q, q)
			}
		}
		const notLess = 5 // true for NaN
		if k.wide() {
			keep := k.K()
			k.VCMPPD(operand.U8(notLess), cut, x, keep)
			k.VMOVAPD(t, e)
			k.VPERMI2PD(table[1], table[0], e)
			k.VPSLLQ(operand.U8(48), t, t)
			k.VPADDQ(t, e, e)
			k.VMULPD_Z(e, q, keep, q)
		} else {
			keep, all, j := k.vec(), k.vec(), k.vec()
			k.VCMPPD(operand.U8(notLess), cut, x, keep)
			k.VPAND(low, t, j)
			k.VPCMPEQD(all, all, all)
			k.VXORPD(e, e, e)
			k.VGATHERQPD(all, operand.Mem{Base: base, Index: j, Scale: 8}, e)
			k.VPSLLQ(operand.U8(48), t, t)
			k.VPADDQ(t, e, e)
			k.VMULPD(e, q, q)
			k.VANDPD(keep, q, q)
		}
		k.VMOVUPD(q, operand.Mem{Base: dst, Index: i, Scale: 8})
		k.ADDQ(imm(k.w/2), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
		k.tooHigh(high, top)
	})
	b.each("expMarked", expMarked)
}

// expMarked computes e^x as the product of 2^(n/16), 2^(f/256) and a cubic polynomial of what is
// left, where n and f < 16 are integers.
func expMarked(k *kernel) {
	sums, dst, w, mark, blocks := k.param("sums"), k.param("dst"), k.param("w"), k.param("mark"), k.param("blocks")
	shift, top := k.vec(), k.vec()
	k.broadcast("shift", shift)
	const h = math.Ln2 / 256
	scale, magic := k.f64("exp256", 1/h), k.f64("magic52", 0x1.8p52)
	cut, high := k.f64("cut", -708), k.f64("high", 709)
	coef := []operand.Op{k.f64("cube2", 3/h+h/16), k.f64("cube1", 6/(h*h)), k.f64("cube0", 6/(h*h*h)*(1-h*h*h*h/3072))}
	fine, coarse := k.sixteen64("fine", fines()), k.sixteen64("sixteenths", sixteenths())
	var places [2]operand.Mem
	if !k.wide() {
		for j := range places {
			at := uint32(1) << (4 * j)
			places[j] = k.table(fmt.Sprintf("places%d", j), at, 0, 2*at, 0, 4*at, 0, 8*at, 0)
		}
	}
	parts := 16 / k.w
	acc := make([]reg.VecVirtual, parts)
	for j := range acc {
		acc[j] = k.vec()
	}
	k.clear(top)
	left := k.GP64()
	k.Label("block")
	for _, a := range acc {
		k.clear(a)
	}
	k.MOVQ(imm(32), left)
	k.Label("group")
	k.PREFETCHT0(operand.Mem{Base: w, Disp: ahead})
	for j := range parts {
		x, t, u, r, q, f, e := k.vec(), k.vec(), k.vec(), k.vec(), k.vec(), k.vec(), k.vec()
		k.VCVTPS2PD(operand.Mem{Base: w, Disp: 2 * k.w * j}, x)
		k.VSUBPD(shift, x, x)
		k.VMAXPD(top, x, top) // top where x is NaN
		k.VMULPD(scale, x, r)
		k.VADDPD(magic, r, t)
		k.VSUBPD(magic, t, q)
		k.VSUBPD(q, r, r)
		k.VADDPD(coef[0], r, q)
		k.VMULPD(r, q, q)
		k.VADDPD(coef[1], q, q)
		k.VMULPD(r, q, q)
		k.VADDPD(coef[2], q, q)
		fine(t, f)
		k.VPSRLQ(operand.U8(4), t, u)
		coarse(u, e)
		k.VPSLLQ(operand.U8(48), u, u)
		k.VPADDQ(u, e, e)
		k.VMULPD(f, q, q)
		const notLess = 5 // true for NaN
		to := operand.Mem{Base: dst, Disp: 4 * k.w * j}
		if k.wide() {
			keep, own := k.K(), k.K()
			k.VCMPPD(operand.U8(notLess), cut, x, keep)
			k.VMULPD_Z(e, q, keep, q)
			k.VMOVUPD(q, to)
			k.KMOVB(operand.Mem{Base: mark}, own)
			k.VADDPD(q, acc[j], own, acc[j])
			continue
		}
		k.VMULPD(e, q, q)
		k.VCMPPD(operand.U8(notLess), cut, x, x)
		k.VANDPD(x, q, q)
		k.VMOVUPD(q, to)
		k.VPBROADCASTB(operand.Mem{Base: mark}, f)
		k.VPAND(places[j], f, f)
		k.VPCMPEQQ(places[j], f, f)
		k.VANDPD(f, q, q)
		k.VADDPD(q, acc[j], acc[j])
	}
	k.ADDQ(imm(32), w)
	k.ADDQ(imm(64), dst)
	k.INCQ(mark)
	k.DECQ(left)
	k.JNZ(operand.LabelRef("group"))
	sum, low, other := acc[0].AsY(), acc[0].AsX(), k.YMM()
	if k.wide() {
		k.VEXTRACTF64X4(operand.U8(1), acc[0], other)
		k.VADDPD(other, sum, sum)
	} else {
		k.VADDPD(acc[1], sum, sum)
	}
	k.VEXTRACTF128(operand.U8(1), sum, other.AsX())
	k.VADDPD(other.AsX(), low, low)
	k.VPERMILPD(operand.U8(1), low, other.AsX())
	k.VADDSD(other.AsX(), low, low)
	k.VMOVSD(low, operand.Mem{Base: sums})
	k.ADDQ(imm(8), sums)
	k.DECQ(blocks)
	k.JNZ(operand.LabelRef("block"))
	k.tooHigh(high, top)
}

// tooHigh returns from the kernel whether an entry of top is greater than high.
func (k *kernel) tooHigh(high operand.Op, top reg.VecVirtual) {
	odd := k.GP32()
	const greater = 14
	if k.wide() {
		m := k.K()
		k.VCMPPD(operand.U8(greater), high, top, m)
		k.KMOVB(m, odd)
		k.MOVBLZX(odd.As8(), odd)
	} else {
		m := k.vec()
		k.VCMPPD(operand.U8(greater), high, top, m)
		k.VMOVMSKPD(m, odd)
	}
	k.Store(odd.As64(), k.ReturnIndex(0))
}

// sixteen64 returns a function that looks up 64-bit words of a table of 16 by the low four bits of
// the lanes of i.
func (k *kernel) sixteen64(name string, words []uint32) func(i, to reg.VecVirtual) {
	m := k.table(name, words...)
	if k.wide() {
		low, high := k.load(m, nil), k.load(m.Offset(64), nil)
		return func(i, to reg.VecVirtual) {
			k.VMOVAPD(i, to)
			k.VPERMI2PD(high, low, to)
		}
	}
	base, bits := k.GP64(), k.u64("low4", 15)
	k.LEAQ(m, base)
	return func(i, to reg.VecVirtual) {
		all, j := k.vec(), k.vec()
		k.VPAND(bits, i, j)
		k.VPCMPEQD(all, all, all)
		k.VXORPD(to, to, to)
		k.VGATHERQPD(all, operand.Mem{Base: base, Index: j, Scale: 8}, to)
	}
}

// sixteenths returns the table sixteenths of package simd as words.
func sixteenths() []uint32 {
	return halves(
		0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
		0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
		0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
		0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
	)
}

// fines returns the table fines of package simd as words.
func fines() []uint32 {
	return halves(
		0x3e2c6b08d704a0c0, 0x3e2c7ec257b064c4, 0x3e2c92898926b24c, 0x3e2ca65e74e82a19,
		0x3e2cba41247c055e, 0x3e2cce31a1701a56, 0x3e2ce22ff558e0df, 0x3e2cf63c29d1770b,
		0x3e2d0a56487ba5c8, 0x3e2d1e7e5affe579, 0x3e2d32b46b0d629c, 0x3e2d46f8825a0276,
		0x3e2d5b4aaaa267b3, 0x3e2d6faaeda9f71f, 0x3e2d8419553adc50, 0x3e2d9895eb260e59,
	)
}

func halves(table ...uint64) (words []uint32) {
	for _, x := range table {
		words = append(words, uint32(x), uint32(x>>32))
	}
	return words
}

// gatherAhead is the distance, in indices, at which weights are prefetched. Rows of a large
// vocabulary come from memory.
const gatherAhead = 160

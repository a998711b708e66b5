package avx

import (
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
	})
}

// sixteenths returns the table sixteenths of package simd as words.
func sixteenths() (words []uint32) {
	for _, x := range []uint64{
		0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
		0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
		0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
		0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
	} {
		words = append(words, uint32(x), uint32(x>>32))
	}
	return words
}

// gatherAhead is the distance, in indices, at which weights are prefetched. Rows of a large
// vocabulary come from memory.
const gatherAhead = 160

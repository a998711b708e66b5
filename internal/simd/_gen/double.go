package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp64Consts are the constants of Exp; registers with AVX-512.
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

// exp64 is Exp for arguments in [−708, 709] and NaN. The fused product is exact.
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
	b.each("softplus", "func(product, positive *[16]float64, x *float32, n int)",
		"multiplies and adds n = 16k terms of refSoftplusSum to the lanes.", func(k *kernel) {
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
	b.each("expGather", "func(dst *float64, w *float32, idx *int32, shift float64, n int) int",
		"is refExpGather on n = 8k indices; not 0 if a result must be computed again, because it is denormal or overflows.",
		func(k *kernel) {
			dst, w, idx, n := k.param("dst"), k.param("w"), k.param("idx"), k.param("n")
			p, err := k.Param("shift").Resolve()
			if err != nil {
				panic(err)
			}
			shift := k.vec()
			k.VBROADCASTSD(p.Addr, shift)
			c := k.exp64Consts()
			cut, top, none := k.f64("cut", -708), k.f64("top", 709), k.f64("none", -746)
			odd := k.vec()
			k.clear(odd)
			odds := k.GP64()
			k.XORQ(odds, odds)
			i := k.GP64()
			k.XORQ(i, i)
			k.Label("loop")
			at32, v, x := k.half(), k.half(), k.vec()
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
			// Beyond −746 the result is 0; between, and above 709, it is odd.
			const less, greater, notLess = 1, 14, 5
			if k.wide() {
				low, tiny, high, keep := k.K(), k.K(), k.K(), k.K()
				g, h := k.GP32(), k.GP32()
				k.VCMPPD(operand.U8(less), cut, x, low)
				k.VCMPPD(operand.U8(notLess), none, x, keep)
				k.VCMPPD(operand.U8(greater), top, x, high)
				k.KANDB(low, keep, tiny)
				k.KORB(tiny, high, tiny)
				k.KMOVB(tiny, g)
				k.MOVBLZX(g.As8(), h)
				k.ORQ(h.As64(), odds)
				e := k.exp64(c, x)
				k.VMOVAPD_Z(e, keep, e)
				k.VMOVUPD(e, operand.Mem{Base: dst, Index: i, Scale: 8})
			} else {
				low, high, keep := k.vec(), k.vec(), k.vec()
				k.VCMPPD(operand.U8(less), cut, x, low)
				k.VCMPPD(operand.U8(notLess), none, x, keep)
				k.VCMPPD(operand.U8(greater), top, x, high)
				k.VANDPD(keep, low, low)
				k.VORPD(low, high, high)
				k.VORPD(high, odd, odd)
				e := k.exp64(c, x)
				k.VANDPD(keep, e, e)
				k.VMOVUPD(e, operand.Mem{Base: dst, Index: i, Scale: 8})
			}
			k.ADDQ(imm(k.w/2), i)
			k.CMPQ(i, n)
			k.JL(operand.LabelRef("loop"))
			if !k.wide() {
				g := k.GP32()
				k.VMOVMSKPD(odd, g)
				k.ORQ(g.As64(), odds)
			}
			k.Store(odds, k.ReturnIndex(0))
		})
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func flip(b *builder) {
	b.each("flipThresholds", flipThresholds)
	b.each("flipDraw", func(k *kernel) { flipSums(k, true) })
	b.each("flipScore", func(k *kernel) { flipSums(k, false) })
}

func flipThresholds(k *kernel) {
	t, h, x, cs, n := k.param("t"), k.param("h"), k.param("x"), k.param("c"), k.param("n")
	beta := k.splat("beta")
	c, sign := k.expConsts(), k.u32(1<<31)
	one, top := k.f32(0x1p31), k.f32(1<<31-128)
	least, lowest := k.u32(1), k.f32(-math.MaxFloat32)
	ones := k.u32(math.MaxUint32)

	body := func(site func(i reg.GPVirtual, sel *mask) reg.VecVirtual) {
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			delta := k.xor(k.shl(k.load(at(x, i, 0), sel), 31), k.load(at(h, i, 0), sel).(operand.Op))
			logit := k.sub(k.mul(delta, beta), site(i, sel))
			p := k.mul(k.sigmoid(c, sign, logit), one)
			k.VMINPS(top, p, p)
			v := k.vec()
			k.VCVTTPS2DQ(p, v)
			const notLess, unordered = 5, 3
			if k.wide() {
				possible, nan := k.K(), k.K()
				k.VCMPPS(operand.U8(notLess), lowest, logit, possible)
				k.VCMPPS(operand.U8(unordered), logit, logit, nan)
				k.VPMAXSD_Z(least, v, possible, v)
				k.VMOVDQA32(ones, nan, v)
			} else {
				possible, nan := k.vec(), k.vec()
				k.VCMPPS(operand.U8(notLess), lowest, logit, possible)
				k.VCMPPS(operand.U8(unordered), logit, logit, nan)
				k.VPMAXSD(least, v, v)
				k.VPAND(possible, v, v)
				k.VPOR(nan, v, v)
			}
			k.store(v, at(t, i, 0), sel)
		})
	}
	step := k.param("step")
	k.TESTQ(step, step)
	k.JNZ(operand.LabelRef("sites"))
	all := k.vec()
	k.VBROADCASTSS(operand.Mem{Base: cs}, all)
	body(func(reg.GPVirtual, *mask) reg.VecVirtual { return all })
	k.JMP(operand.LabelRef("end"))
	k.Label("sites")
	body(func(i reg.GPVirtual, sel *mask) reg.VecVirtual { return k.load(at(cs, i, 0), sel) })
	k.Label("end")
}

// flipSums multiplies the factors in 16 virtual lanes: two registers of float64 with AVX-512, four
// with AVX2. Every 32 turns, and at the end, it moves the exponents to an integer register. Type
// flipSums of package simd describes the result.
func flipSums(k *kernel, draw bool) {
	y, x, t, n := k.param("y"), k.param("x"), k.param("t"), k.param("n")
	bits := n
	if draw {
		bits = k.param("bits")
	}
	parts := 16 / k.w
	one := k.resident(1)
	flipOne := k.resident(1 << 31)
	oneF, mantissa := k.u64("one64", 1023<<52), k.u64("mantissa", 1<<52-1)
	zero := func() reg.VecVirtual {
		r := k.vec()
		k.clear(r)
		return r
	}
	var acc []reg.VecVirtual
	for range 2 * parts {
		a := k.vec()
		k.VMOVUPS(oneF, a)
		acc = append(acc, a)
	}
	exps, signs, least := zero(), zero(), k.vec()
	k.vmov(flipOne, least)
	moved := k.GP64()
	k.XORQ(moved, moved)

	i, run := k.GP64(), k.GP64()
	k.XORQ(i, i)
	k.MOVQ(imm(32), run)

	// factors multiplies the accumulators by the factors of one register, part j of a turn.
	factors := func(i reg.GPVirtual, j int, sel *mask) {
		off := 4 * k.w * j
		xs, ts := k.load(at(x, i, off), sel), k.load(at(t, i, off), sel)
		f := k.vec()
		k.VPSUBD(ts, flipOne, f)
		var m reg.OpmaskVirtual
		flips := k.vec()
		if k.wide() {
			m = k.K()
		}
		if draw {
			b := k.shr(k.load(at(bits, i, off), sel), 1)
			if k.wide() {
				k.VPCMPGTD(b, ts, m)
			} else {
				k.VPCMPGTD(b, ts, flips)
			}
		} else {
			ys := k.load(at(y, i, off), sel)
			if k.wide() {
				k.VPCMPD(operand.U8(4), ys, xs, m) // not equal
			} else {
				k.VPCMPEQD(ys, xs, flips)
				all := k.vec()
				k.VPCMPEQD(all, all, all)
				k.VPXOR(all, flips, flips)
			}
		}
		if k.wide() {
			k.VMOVDQA32(ts, m, f)
			if draw {
				k.VPSUBD(xs, one, m, xs)
				k.store(xs, at(y, i, off), sel)
				g := k.GP32()
				k.KMOVW(m, g)
				k.POPCNTL(g, g)
				k.ADDQ(g.As64(), moved)
			}
		} else {
			k.VBLENDVPS(flips, ts, f, f)
			if draw {
				other := k.vec()
				k.VPSUBD(xs, one, other)
				k.VBLENDVPS(flips, other, xs, xs)
				k.store(xs, at(y, i, off), sel)
				g := k.GP32()
				k.VMOVMSKPS(flips, g)
				k.POPCNTL(g, g)
				k.ADDQ(g.As64(), moved)
			}
		}
		if sel != nil { // absent factors are 1
			g := k.vec()
			if k.wide() {
				k.vmov(one, g)
				k.VMOVDQA32(f, sel.k, g)
			} else {
				k.VBLENDVPS(sel.y, f, one, g)
			}
			f = g
		}
		if k.wide() {
			k.VPORD(ts, signs, signs)
		} else {
			k.VPOR(ts, signs, signs)
		}
		if !draw {
			k.VPMINUD(f, least, least)
		}
		lo, hi := k.vec(), k.vec()
		top := k.half()
		if k.wide() {
			k.VCVTUDQ2PD(f.AsY(), lo)
			k.VEXTRACTI64X4(operand.U8(1), f, top)
			k.VCVTUDQ2PD(top, hi)
		} else { // 2³¹ is converted to a negative number; renorm drops the sign
			k.VCVTDQ2PD(f.AsX(), lo)
			k.VEXTRACTI128(operand.U8(1), f, top)
			k.VCVTDQ2PD(top, hi)
		}
		k.VMULPD(lo, acc[2*j], acc[2*j])
		k.VMULPD(hi, acc[2*j+1], acc[2*j+1])
	}
	renorm := func() {
		for _, a := range acc {
			e := k.vec()
			k.VPSLLQ(operand.U8(1), a, e)
			k.VPSRLQ(operand.U8(53), e, e)
			k.VPADDQ(e, exps, exps)
			if k.wide() {
				k.VPTERNLOGQ(operand.U8(0xEA), oneF, mantissa, a) // a&m | one
			} else {
				k.VPAND(mantissa, a, a)
				k.VPOR(oneF, a, a)
			}
		}
	}

	end := k.GP64()
	k.MOVQ(n, end)
	k.SUBQ(imm(16), end)
	k.Label("loop")
	k.CMPQ(i, end)
	k.JG(operand.LabelRef("tail"))
	for j := range parts {
		factors(i, j, nil)
	}
	k.ADDQ(imm(16), i)
	k.DECQ(run)
	k.JNZ(operand.LabelRef("loop"))
	renorm()
	k.MOVQ(imm(32), run)
	k.JMP(operand.LabelRef("loop"))
	k.Label("tail")
	k.parts(parts, i, n, func(j int, sel *mask) { factors(i, j, sel) })
	renorm()

	// Combine the lanes by repeated halving.
	p := acc[0]
	if k.wide() {
		k.VMULPD(acc[1], acc[0], p) // 8 lanes
	} else {
		k.VMULPD(acc[2], acc[0], acc[0])
		k.VMULPD(acc[3], acc[1], acc[1])
		k.VMULPD(acc[1], acc[0], p) // 4 lanes
	}
	if k.wide() {
		h := k.YMM()
		k.VEXTRACTF64X4(operand.U8(1), p, h)
		k.VMULPD(h, p.AsY(), p.AsY())
		k.VEXTRACTI64X4(operand.U8(1), exps, h)
		k.VPADDQ(h, exps.AsY(), exps.AsY())
		k.VEXTRACTI64X4(operand.U8(1), signs, h)
		k.VPORD(h, signs.AsY(), signs.AsY())
		k.VEXTRACTI64X4(operand.U8(1), least, h)
		k.VPMINUD(h, least.AsY(), least.AsY())
	}
	h := k.XMM()
	k.VEXTRACTF128(operand.U8(1), p.AsY(), h)
	k.VMULPD(h, p.AsX(), p.AsX())
	k.VPERMILPD(operand.U8(1), p.AsX(), h)
	k.VMULPD(h, p.AsX(), p.AsX())
	out := k.param("out")
	k.VMOVQ(p.AsX(), operand.Mem{Base: out})
	for field, v := range []reg.VecVirtual{exps, signs, least} {
		fold := func(a, b reg.VecVirtual) {
			switch field {
			case 0:
				k.VPADDQ(b, a, a)
			case 1:
				k.VPOR(b, a, a)
			case 2:
				k.VPMINUD(b, a, a)
			}
		}
		if field == 2 && draw {
			break
		}
		a := v.AsX().(reg.VecVirtual)
		k.VEXTRACTI128(operand.U8(1), v.AsY(), h)
		fold(a, h)
		k.VPSHUFD(operand.U8(0xEE), a, h)
		fold(a, h)
		if field > 0 {
			k.VPSHUFD(operand.U8(0x55), a, h)
			fold(a, h)
		}
		k.VMOVQ(a, operand.Mem{Base: out, Disp: 8 + 8*field})
	}
	k.MOVQ(moved, operand.Mem{Base: out, Disp: 32})
}

func (k *kernel) clear(r reg.VecVirtual) {
	if k.wide() {
		k.VPXORD(r, r, r)
	} else {
		k.VPXOR(r, r, r)
	}
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expConsts are the constants of exp32; they must be made before the loop.
type expConsts struct {
	log2e, magic, hi, lo, c0, c1, c2, c3, one, cut operand.Op
}

func (k *kernel) expConsts() expConsts {
	return expConsts{
		log2e: k.f32(1.44269504088896340736), magic: k.f32(0x1.8p23 + 127),
		hi: k.f32(0x1.62e4p-1), lo: k.f32(0x1.7f7d1cp-20),
		c0: k.f32(0x1.fffdfcp-02), c1: k.f32(0x1.5557aep-03), c2: k.f32(0x1.5729fp-05), c3: k.f32(0x1.106284p-07),
		one: k.f32(1), cut: k.f32(-87.3),
	}
}

// exp is exp32 of the reference. The one product that is fused is exact. AVX2
// clamps the argument at the cut-off, so that no step meets a denormal number;
// with AVX-512 masked lanes compute nothing.
func (k *kernel) exp(c expConsts, x reg.VecVirtual) reg.VecVirtual {
	arg := x
	if !k.wide() {
		cut := k.vec()
		k.VMOVUPS(c.cut, cut)
		arg = k.larger(cut, x)
	}
	t := k.mul(arg, c.log2e)
	var n, scale reg.VecVirtual
	if k.wide() {
		scale, n = k.vec(), k.vec()
		k.VRNDSCALEPS(operand.U8(0), t, scale)
		k.vmov(scale, n)
	} else {
		k.VADDPS(c.magic, t, t)
		n = k.sub(t, c.magic)
	}
	r := k.vec()
	k.vmov(arg, r)
	k.VFNMADD231PS(c.hi, n, r)
	k.VMULPS(c.lo, n, n)
	k.VSUBPS(n, r, r)
	q := k.mul(r, c.c3)
	for _, ci := range []operand.Op{c.c2, c.c1, c.c0} {
		k.VADDPS(ci, q, q)
		if ci != c.c0 {
			k.VMULPS(r, q, q)
		}
	}
	r2 := k.mul(r, r)
	k.VMULPS(q, r2, q)
	k.VADDPS(r, q, q)
	k.VADDPS(c.one, q, q)
	const notLess = 5 // or unordered
	if k.wide() {
		m := k.K()
		k.VCMPPS(operand.U8(notLess), c.cut, x, m)
		k.VSCALEFPS_Z(scale, q, m, q)
		return q
	}
	k.VPSLLD(operand.U8(23), t, t)
	keep := k.vec()
	k.VCMPPS(operand.U8(notLess), c.cut, x, keep)
	k.VMULPS(t, q, q)
	k.VANDPS(keep, q, q)
	return q
}

// sigmoid is sigmoid32 of the reference. With AVX2 the choice goes by the sign
// bit: at −0 both branches are 1/2.
func (k *kernel) sigmoid(c expConsts, sign operand.Op, x reg.VecVirtual) reg.VecVirtual {
	e := k.exp(c, k.or(x, sign))
	d := k.add(e, c.one)
	if k.wide() {
		m := k.K()
		k.VPMOVD2M(x, m)
		num := k.vec()
		k.VMOVAPS(c.one, num)
		k.VMOVAPS(e, m, num)
		return k.div(num, d)
	}
	num := k.vec()
	k.VMOVUPS(c.one, num)
	k.VBLENDVPS(x, e, num, num)
	return k.div(num, d)
}

func logistic(b *builder) {
	b.each("sigmoid", "func(dst, src *float32, n int)", "is refSigmoidTo.", func(k *kernel) {
		dst, src, n := k.param("dst"), k.param("src"), k.param("n")
		c, sign := k.expConsts(), k.u32(1<<31)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			k.store(k.sigmoid(c, sign, k.load(at(src, i, 0), sel)), at(dst, i, 0), sel)
		})
	})
	// The constants of GELU: 2·√(2/π) and the coefficient of the cube.
	const slope, cubic = 1.5957691216057308, 0.044715
	argument := func(k *kernel, c, steep operand.Op, x reg.VecVirtual) (square, u reg.VecVirtual) {
		square = k.mul(x, x)
		return square, k.mul(k.add(x, k.mul(k.mul(square, c), x)), steep)
	}
	b.each("gelu", "func(dst, src *float32, n int)", "is refGELU.", func(k *kernel) {
		dst, src, n := k.param("dst"), k.param("src"), k.param("n")
		c, sign := k.expConsts(), k.u32(1<<31)
		third, steep := k.f32(cubic), k.f32(slope)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			x := k.load(at(src, i, 0), sel)
			_, u := argument(k, third, steep, x)
			k.store(k.mul(k.sigmoid(c, sign, u), x), at(dst, i, 0), sel)
		})
	})
	b.each("geluSlope", "func(d, x *float32, n int)", "is refGELUSlope.", func(k *kernel) {
		d, src, n := k.param("d"), k.param("x"), k.param("n")
		c, sign := k.expConsts(), k.u32(1<<31)
		third, steep, curve := k.f32(cubic), k.f32(slope), k.f32(3*cubic)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			x := k.load(at(src, i, 0), sel)
			square, u := argument(k, third, steep, x)
			rise := k.mul(k.mul(k.add(k.mul(square, curve), c.one), steep), x)
			s := k.sigmoid(c, sign, u)
			one := k.vec()
			k.VMOVUPS(c.one, one)
			turn := k.mul(s, k.sub(one, s))
			k.store(k.mul(k.load(at(d, i, 0), sel), k.add(s, k.mul(rise, turn))), at(d, i, 0), sel)
		})
	})
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// jumps writes the kernel for the thresholds of jump processes on two levels.
func jumps(b *builder) {
	b.each("jumpThresholds", jumpThresholds)
}

func jumpThresholds(k *kernel) {
	t, h, x, n := k.param("t"), k.param("h"), k.param("x"), k.param("n")
	tau := k.splat("tau")
	c, sign := k.expConsts(), k.u32(1<<31)
	short, half, third, fourth, fifth, last := k.f32(0.25), k.f32(1.0/2), k.f32(1.0/6), k.f32(1.0/24), k.f32(1.0/120), k.f32(1.0/720)
	scale, top := k.f32(0x1p31), k.f32(1<<31-128)
	least, most := k.u32(1), k.f32(math.MaxFloat32)
	ones := k.u32(math.MaxUint32)
	const less, unordered, notGreater = 1, 3, 10

	body := func(slowest func(one, e, d reg.VecVirtual) reg.VecVirtual) {
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			delta := k.xor(k.shl(k.load(at(x, i, 0), sel), 31), k.load(at(h, i, 0), sel).(operand.Op))
			e, one := k.exp(c, k.or(delta, sign)), k.vec()
			d := k.add(e, c.one)
			k.VMOVUPS(c.one, one)
			r := k.mul(slowest(one, e, d), tau)

			// Where the sign of Δ is negative, including −0, ν is the larger of the two.
			nu := k.vec()
			if k.wide() {
				down := k.K()
				k.VPMOVD2M(delta, down)
				k.VMOVAPS(e, nu)
				k.VMOVAPS(one, down, nu)
			} else {
				k.VBLENDVPS(delta, one, e, nu)
			}
			nu = k.div(nu, d)

			gone := k.sub(one, k.exp(c, k.or(r, sign)))
			series := k.vec()
			k.vmov(r, series)
			series = k.mul(series, last)
			for _, term := range []operand.Op{fifth, fourth, third, half, one} {
				from := k.vec()
				k.VMOVUPS(term, from)
				series = k.mul(r, k.sub(from, series))
			}
			if k.wide() {
				small := k.K()
				k.VCMPPS(operand.U8(less), short, r, small)
				k.VMOVAPS(series, small, gone)
			} else {
				small := k.vec()
				k.VCMPPS(operand.U8(less), short, r, small)
				k.VBLENDVPS(small, series, gone, gone)
			}

			p, v := k.mul(k.mul(nu, gone), scale), k.vec()
			k.VMINPS(top, p, p)
			k.VCVTTPS2DQ(p, v)
			if k.wide() {
				possible, nan := k.K(), k.K()
				k.VCMPPS(operand.U8(notGreater), most, delta, possible)
				k.VCMPPS(operand.U8(unordered), delta, delta, nan)
				k.VPMAXSD_Z(least, v, possible, v)
				k.VMOVDQA32(ones, nan, v)
			} else {
				possible, nan := k.vec(), k.vec()
				k.VCMPPS(operand.U8(notGreater), most, delta, possible)
				k.VCMPPS(operand.U8(unordered), delta, delta, nan)
				k.VPMAXSD(least, v, v)
				k.VPAND(possible, v, v)
				k.VPOR(nan, v, v)
			}
			k.store(v, at(t, i, 0), sel)
		})
		k.JMP(operand.LabelRef("end"))
	}
	rate := k.param("rate")
	for i, slowest := range []func(one, e, d reg.VecVirtual) reg.VecVirtual{
		func(_, e, d reg.VecVirtual) reg.VecVirtual {
			root := k.vec()
			k.VSQRTPS(e, root)
			return k.div(d, root)
		},
		func(one, _, _ reg.VecVirtual) reg.VecVirtual { return one },
		func(_, _, d reg.VecVirtual) reg.VecVirtual { return d },
		func(_, e, d reg.VecVirtual) reg.VecVirtual { return k.div(d, e) },
	} {
		next := k.label("rate")
		k.CMPQ(rate, imm(i))
		k.JNE(operand.LabelRef(next))
		body(slowest)
		k.Label(next)
	}
	k.Label("end")
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// linear64 writes the kernels for inner products and sums of float64 vectors.
func linear64(b *builder) {
	b.each("dot64", func(k *kernel) {
		x, y, n, i := k.param("x"), k.param("y"), k.param("n"), k.GP64()
		var sums []reg.VecVirtual
		for range 32 / k.w {
			s := k.vec()
			k.VXORPD(s, s, s)
			sums = append(sums, s)
		}
		k.XORQ(i, i)
		k.Label("loop")
		for l, s := range sums {
			v := k.vec()
			k.VMOVUPD(operand.Mem{Base: x, Index: i, Scale: 8, Disp: 4 * k.w * l}, v)
			k.VMULPD(operand.Mem{Base: y, Index: i, Scale: 8, Disp: 4 * k.w * l}, v, v)
			k.VADDPD(v, s, s)
		}
		k.ADDQ(operand.U8(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
		k.Store(k.halve(sums).AsX(), k.ReturnIndex(0))
	})
	b.each("axpy64", func(k *kernel) {
		x, y, n, i, a := k.param("x"), k.param("y"), k.param("n"), k.GP64(), k.vec()
		k.broadcast("a", a)
		k.XORQ(i, i)
		k.Label("loop")
		for l := range 32 / k.w {
			at := operand.Mem{Base: y, Index: i, Scale: 8, Disp: 4 * k.w * l}
			v := k.vec()
			k.VMULPD(operand.Mem{Base: x, Index: i, Scale: 8, Disp: 4 * k.w * l}, a, v)
			k.VADDPD(at, v, v)
			k.VMOVUPD(v, at)
		}
		k.ADDQ(operand.U8(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
	})
	// The kernels below convert float32 to float64.
	wide := func(k *kernel, base, i reg.Register, l int) reg.VecVirtual {
		v := k.vec()
		k.VCVTPS2PD(operand.Mem{Base: base, Index: i, Scale: 4, Disp: 2 * k.w * l}, v)
		return v
	}
	zeros := func(k *kernel) (sums []reg.VecVirtual) {
		for range 32 / k.w {
			s := k.vec()
			k.VXORPD(s, s, s)
			sums = append(sums, s)
		}
		return sums
	}
	loop := func(k *kernel, n, i reg.GPVirtual, body func()) {
		k.XORQ(i, i)
		k.Label("loop")
		body()
		k.ADDQ(operand.U8(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
	}
	b.each("inner", func(k *kernel) {
		w, x, n, i := k.param("w"), k.param("x"), k.param("n"), k.GP64()
		sums := zeros(k)
		loop(k, n, i, func() {
			for l, s := range sums {
				v := wide(k, x, i, l)
				k.VMULPD(operand.Mem{Base: w, Index: i, Scale: 8, Disp: 4 * k.w * l}, v, v)
				k.VADDPD(v, s, s)
			}
		})
		k.Store(k.halve(sums).AsX(), k.ReturnIndex(0))
	})
	b.each("gap", func(k *kernel) {
		x, y, n, i, scale := k.param("x"), k.param("y"), k.param("n"), k.GP64(), k.vec()
		k.broadcast("s", scale)
		sums := zeros(k)
		loop(k, n, i, func() {
			for l, s := range sums {
				d, v := wide(k, x, i, l), wide(k, y, i, l)
				k.VMULPD(scale, v, v)
				k.VSUBPD(v, d, d)
				k.VMULPD(d, d, d)
				k.VADDPD(d, s, s)
			}
		})
		k.Store(k.halve(sums).AsX(), k.ReturnIndex(0))
	})
	b.each("addWide", func(k *kernel) {
		dst, x, n, i, a := k.param("dst"), k.param("x"), k.param("n"), k.GP64(), k.vec()
		k.broadcast("a", a)
		loop(k, n, i, func() {
			for l := range 32 / k.w {
				at := operand.Mem{Base: dst, Index: i, Scale: 8, Disp: 4 * k.w * l}
				v := wide(k, x, i, l)
				k.VMULPD(a, v, v)
				k.VADDPD(at, v, v)
				k.VMOVUPD(v, at)
			}
		})
	})
	b.each("addFinite", func(k *kernel) {
		const unordered = 3
		dst, x, n, i, a := k.param("dst"), k.param("x"), k.param("n"), k.GP64(), k.vec()
		k.broadcast("a", a)
		loop(k, n, i, func() {
			for l := range 32 / k.w {
				at := operand.Mem{Base: dst, Index: i, Scale: 4, Disp: 2 * k.w * l}
				v, old, gap := wide(k, x, i, l), k.half(), k.half()
				k.VMOVUPS(at, old)
				k.VMULPD(a, v, v)
				sum := k.vec()
				k.VCVTPS2PD(old, sum)
				k.VADDPD(v, sum, sum)
				new := k.half()
				if k.wide() {
					k.VCVTPD2PS(sum, new)
				} else {
					k.VCVTPD2PSY(sum, new)
				}
				k.VSUBPS(old, old, gap) // NaN if old is not finite
				if k.wide() {
					m := k.K()
					k.VCMPPS(operand.U8(unordered), gap, gap, m)
					k.VMOVAPS(old, m, new)
				} else {
					k.VCMPPS(operand.U8(unordered), gap, gap, gap)
					k.VBLENDVPS(gap, old, new, new)
				}
				k.VMOVUPS(new, at)
			}
		})
	})
}

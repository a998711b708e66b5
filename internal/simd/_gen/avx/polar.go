package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// log64Consts holds the constants of Log, in registers with AVX-512.
type log64Consts struct {
	one, two, half, hi, lo, shift, root, magic, bias operand.Op
	c                                                []operand.Op
}

func (k *kernel) log64Consts() log64Consts {
	const sqrtHalf = 0x3fe6a09e667f3bcd
	l := log64Consts{
		one: k.f64("one", 1), two: k.f64("two", 2), half: k.f64("half", 0.5),
		hi: k.f64("ln2hi", 0x1.62e42feep-1), lo: k.f64("ln2lo", 0x1.a39ef35793c76p-33),
		// The exponent is that of the bits minus the bits of √½; adding 1024 makes it nonnegative.
		// It is converted to float64 by setting the last bits of magic to it and subtracting bias.
		shift: k.u64("shift", 1024<<52), root: k.u64("root", sqrtHalf),
		magic: k.f64("magic", 0x1p52), bias: k.f64("bias", 0x1p52+1024),
	}
	for i, c := range []float64{
		0x1.2f16cdb15a626p-03, 0x1.39a014f5825e8p-03, 0x1.74664e6adbaa8p-03, 0x1.c71c51c208b8bp-03,
		0x1.249249424364ep-02, 0x1.999999997f852p-02, 0x1.5555555555593p-01,
	} {
		l.c = append(l.c, k.f64("log"+string(rune('a'+i)), c))
	}
	return l
}

// log64 computes Log for arguments in [2⁻¹⁰²², 2¹⁰²³).
func (k *kernel) log64(c log64Consts, x reg.VecVirtual) reg.VecVirtual {
	t, e, f, s, z, p, h := k.vec(), k.vec(), k.vec(), k.vec(), k.vec(), k.vec(), k.vec()
	k.VPADDQ(c.shift, x, f)
	k.VPSUBQ(c.root, f, t)
	k.VPSRLQ(operand.U8(52), t, e)
	k.VPSLLQ(operand.U8(52), e, t)
	k.VPSUBQ(t, f, f)
	if k.wide() {
		k.VPORQ(c.magic, e, e)
	} else {
		k.VPOR(c.magic, e, e)
	}
	k.VSUBPD(c.bias, e, e)
	k.VSUBPD(c.one, f, f)

	k.VADDPD(c.two, f, s)
	k.VDIVPD(s, f, s)
	k.VMULPD(s, s, z)
	k.VMULPD(c.c[0], z, p)
	for _, ci := range c.c[1:] {
		k.VADDPD(ci, p, p)
		k.VMULPD(z, p, p)
	}
	k.VMULPD(c.half, f, h)
	k.VMULPD(f, h, h)
	k.VADDPD(h, p, p)
	k.VMULPD(s, p, p)
	k.VMULPD(c.lo, e, t)
	k.VADDPD(t, p, p)
	k.VSUBPD(p, h, h)
	k.VSUBPD(f, h, h)
	k.VMULPD(c.hi, e, e)
	k.VSUBPD(h, e, e)
	return e
}

func polar(b *builder) {
	b.each("polar", func(k *kernel) {
		r, n, i := k.param("r"), k.param("n"), k.GP64()
		c, minus := k.log64Consts(), k.f64("minus2", -2)
		k.XORQ(i, i)
		k.Label("loop")
		for j := range 32 / k.w {
			at := operand.Mem{Base: r, Index: i, Scale: 8, Disp: 4 * k.w * j}
			x := k.vec()
			k.VMOVUPD(at, x)
			l := k.log64(c, x)
			k.VMULPD(minus, l, l)
			k.VDIVPD(x, l, l)
			k.VSQRTPD(l, l)
			k.VMOVUPD(l, at)
		}
		k.ADDQ(operand.U8(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
	})
}

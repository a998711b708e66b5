package avx

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expConsts holds the constants of exp32, which must be created before the loop.
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

// expMemory returns expConsts in memory, for kernels without spare registers. With AVX-512 the
// instructions read single words of memory.
func (k *kernel) expMemory() expConsts {
	if !k.wide() {
		return k.expConsts()
	}
	word := func(v float64) operand.Op {
		bits := math.Float32bits(float32(v))
		return k.table(fmt.Sprintf("word%08x", bits), bits)
	}
	return expConsts{
		log2e: word(1.44269504088896340736), magic: word(0x1.8p23 + 127), hi: word(0x1.62e4p-1), lo: word(0x1.7f7d1cp-20),
		c0: word(0x1.fffdfcp-02), c1: word(0x1.5557aep-03), c2: word(0x1.5729fp-05), c3: word(0x1.106284p-07),
		one: word(1), cut: word(-87.3),
	}
}

// The constant of mulBy, addBy, lessBy, takeBy and notBelow is a register or memory. In memory it
// is eight words with AVX2 and one word with AVX-512.

func (k *kernel) single(c operand.Op) bool {
	_, memory := c.(operand.Mem)
	return memory && k.wide()
}

// mulBy stores c·x in d.
func (k *kernel) mulBy(c operand.Op, x, d reg.VecVirtual) {
	if k.single(c) {
		k.VMULPS_BCST(c, x, d)
	} else {
		k.VMULPS(c, x, d)
	}
}

// addBy stores c + x in d.
func (k *kernel) addBy(c operand.Op, x, d reg.VecVirtual) {
	if k.single(c) {
		k.VADDPS_BCST(c, x, d)
	} else {
		k.VADDPS(c, x, d)
	}
}

// lessBy stores x − c in d.
func (k *kernel) lessBy(c operand.Op, x, d reg.VecVirtual) {
	if k.single(c) {
		k.VSUBPS_BCST(c, x, d)
	} else {
		k.VSUBPS(c, x, d)
	}
}

// takeBy subtracts the exact product c·x from d.
func (k *kernel) takeBy(c operand.Op, x, d reg.VecVirtual) {
	if k.single(c) {
		k.VFNMADD231PS_BCST(c, x, d)
	} else {
		k.VFNMADD231PS(c, x, d)
	}
}

// notBelow sets, with AVX-512, the lanes of m for which x ≥ c. It does not set a lane whose x is
// NaN.
func (k *kernel) notBelow(c operand.Op, x reg.VecVirtual, m reg.OpmaskVirtual) {
	const notLess = 5 // or unordered
	if k.single(c) {
		k.VCMPPS_BCST(operand.U8(notLess), c, x, m)
	} else {
		k.VCMPPS(operand.U8(notLess), c, x, m)
	}
}

// exp computes exp32 of the reference and destroys x. The one product that is fused is exact. With
// AVX2 the argument is clamped at the cut-off, so that no step computes with a denormal number.
// With AVX-512 masked lanes are not computed.
func (k *kernel) exp(c expConsts, x reg.VecVirtual) reg.VecVirtual {
	var m reg.OpmaskVirtual
	var keep, n, scale reg.VecVirtual
	r, t := x, k.vec()
	if k.wide() {
		m, n, scale = k.K(), k.vec(), k.vec()
		k.notBelow(c.cut, x, m)
		k.mulBy(c.log2e, x, t)
		k.addBy(c.magic, t, t)
		k.lessBy(c.magic, t, scale)
		k.takeBy(c.hi, scale, r)
		k.mulBy(c.lo, scale, n)
	} else {
		const notLess = 5 // or unordered
		keep, r = k.vec(), k.vec()
		k.VMOVUPS(c.cut, r)
		k.VMAXPS(x, r, r)
		k.VCMPPS(operand.U8(notLess), c.cut, x, keep)
		k.VMULPS(c.log2e, r, t)
		k.VADDPS(c.magic, t, t)
		n = k.sub(t, c.magic)
		k.VFNMADD231PS(c.hi, n, r)
		k.VMULPS(c.lo, n, n)
	}
	k.VSUBPS(n, r, r)
	q := k.vec()
	k.mulBy(c.c3, r, q)
	for _, ci := range []operand.Op{c.c2, c.c1, c.c0} {
		k.addBy(ci, q, q)
		if ci != c.c0 {
			k.VMULPS(r, q, q)
		}
	}
	r2 := k.mul(r, r)
	k.VMULPS(q, r2, q)
	k.VADDPS(r, q, q)
	k.addBy(c.one, q, q)
	if k.wide() {
		k.VSCALEFPS_Z(scale, q, m, q)
		return q
	}
	k.VPSLLD(operand.U8(23), t, t)
	k.VMULPS(t, q, q)
	k.VANDPS(keep, q, q)
	return q
}

// exps computes exp of eight registers at once with AVX-512, step by step. One after the other,
// their instructions would fill the processor's queue with instructions that wait for one chain.
// Each step has its constant in a register. again recomputes the eighth argument, for whose mask no
// register is left. If between is not nil, it is called between the first eight steps to write
// independent instructions.
func (k *kernel) exps(c expConsts, x [8]reg.VecVirtual, again func(t reg.VecVirtual), between func(step int)) [8]reg.VecVirtual {
	if between == nil {
		between = func(int) {}
	}
	var scale, q [8]reg.VecVirtual
	var m [8]reg.OpmaskVirtual
	t := k.vec()
	cut, log2e := k.spread1(c.cut), k.spread1(c.log2e)
	for j, r := range x {
		scale[j] = k.vec()
		if j < 7 {
			m[j] = k.K()
			k.notBelow(cut, r, m[j])
		}
		k.VMULPS(log2e, r, scale[j])
	}
	between(0)
	magic := k.spread1(c.magic)
	for _, s := range scale {
		k.VADDPS(magic, s, s)
	}
	between(1)
	for _, s := range scale {
		k.VSUBPS(magic, s, s)
	}
	between(2)
	hi, lo := k.spread1(c.hi), k.spread1(c.lo)
	for j, r := range x {
		k.VFNMADD231PS(hi, scale[j], r)
	}
	between(3)
	for j, r := range x {
		k.VMULPS(lo, scale[j], t)
		k.VSUBPS(t, r, r)
	}
	between(4)
	c3 := k.spread1(c.c3)
	for j, r := range x {
		q[j] = k.vec()
		k.VMULPS(c3, r, q[j])
	}
	between(5)
	for n, ci := range []operand.Op{c.c2, c.c1, c.c0} {
		v := k.spread1(ci)
		for _, p := range q {
			k.VADDPS(v, p, p)
		}
		between(6 + n)
		if ci != c.c0 {
			for j, r := range x {
				k.VMULPS(r, q[j], q[j])
			}
		}
	}
	for j, r := range x {
		k.VMULPS(r, r, t)
		k.VMULPS(q[j], t, q[j])
	}
	for j, r := range x {
		k.VADDPS(r, q[j], q[j])
	}
	one := k.spread1(c.one)
	for _, p := range q {
		k.VADDPS(one, p, p)
	}
	for j := range 7 {
		k.VSCALEFPS_Z(scale[j], q[j], m[j], q[j])
	}
	again(t)
	last := k.K()
	k.notBelow(c.cut, t, last)
	k.VSCALEFPS_Z(scale[7], q[7], last, q[7])
	return q
}

// spread1 returns a new register with a constant from one word of memory in every lane.
func (k *kernel) spread1(c operand.Op) reg.VecVirtual {
	r := k.vec()
	k.VBROADCASTSS(c, r)
	return r
}

// sigmoid computes sigmoid32 of the reference. With AVX2 the branch is selected by the sign bit: at
// −0 both branches give 1/2.
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
	b.each("sigmoid", func(k *kernel) {
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
	b.each("gelu", func(k *kernel) {
		dst, src, n := k.param("dst"), k.param("src"), k.param("n")
		c, sign := k.expConsts(), k.u32(1<<31)
		third, steep := k.f32(cubic), k.f32(slope)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			x := k.load(at(src, i, 0), sel)
			_, u := argument(k, third, steep, x)
			k.store(k.mul(k.sigmoid(c, sign, u), x), at(dst, i, 0), sel)
		})
	})
	b.each("geluSlope", func(k *kernel) {
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

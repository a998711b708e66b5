package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// logConsts holds the constants of the float32 logarithm.
type logConsts struct {
	c0, c1, c2, two, one, ln2, root operand.Op
}

func (k *kernel) logConsts() logConsts {
	return logConsts{
		c0: k.f32(0x1.55557ap-01), c1: k.f32(0x1.995e78p-02), c2: k.f32(0x1.31ea76p-02),
		two: k.f32(2), one: k.f32(1), ln2: k.f32(0x1.62e43p-1), root: k.u32(0x3f3504f3),
	}
}

// logReduce computes logReduce32 of the reference.
func (k *kernel) logReduce(c logConsts, x reg.VecVirtual) (e, f reg.VecVirtual) {
	e, f = k.vec(), k.vec()
	k.VPSUBD(c.root, x, e)
	k.VPSRAD(operand.U8(23), e, e)
	k.VPSUBD(k.shl(e, 23), x, f)
	k.VCVTDQ2PS(e, e)
	k.VSUBPS(c.one, f, f)
	return e, f
}

// logSum computes logSum32 of the reference.
func (k *kernel) logSum(c logConsts, e, f reg.VecVirtual) reg.VecVirtual {
	s := k.div(f, k.add(f, c.two))
	z := k.mul(s, s)
	q := k.mul(z, c.c2)
	k.VADDPS(c.c1, q, q)
	k.VMULPS(z, q, q)
	k.VADDPS(c.c0, q, q)
	k.VMULPS(z, q, q)
	k.VADDPS(c.two, q, q)
	k.VMULPS(s, q, q)
	return k.add(k.mul(e, c.ln2), q)
}

// noise holds the constants of exponential32.
type noise struct {
	log              logConsts
	half, ulp, small operand.Op
	sign             operand.Op
}

func (k *kernel) noise() noise {
	return noise{k.logConsts(), k.f32(0.5), k.f32(0x1p-32), k.u32(0x4afb0ccd), k.u32(1 << 31)}
}

// negLog1p computes −exponential32 of the reference. With AVX2 the comparison with small is signed,
// and the sign bit is excluded separately.
func (k *kernel) negLog1p(c noise, b reg.VecVirtual) reg.VecVirtual {
	high, a := k.vec(), k.vec()
	k.VPSRAD(operand.U8(31), b, high)
	if k.wide() {
		k.VPXORD(b, high, a)
	} else {
		k.VPXOR(b, high, a)
	}
	k.VCVTDQ2PS(a, a)
	k.VADDPS(c.half, a, a)
	k.VMULPS(c.ulp, a, a)
	y, one := k.vec(), k.vec()
	k.VMOVUPS(c.log.one, one)
	k.VSUBPS(a, one, y)
	if k.wide() {
		m, small := k.K(), k.K()
		k.VPMOVD2M(b, m)
		k.VMOVAPS(a, m, y)
		e, f := k.logReduce(c.log, y)
		k.VPCMPUD(operand.U8(1), c.small, b, small)
		k.VPXORD(c.sign, a, small, f)
		k.VPXORD(e, e, small, e)
		return k.logSum(c.log, e, f)
	}
	k.VBLENDVPS(high, a, y, y)
	e, f := k.logReduce(c.log, y)
	small, minus := k.vec(), k.vec()
	k.VMOVUPS(c.small, small)
	k.VPCMPGTD(b, small, small)
	k.VPANDN(small, high, small)
	k.VXORPS(c.sign, a, minus)
	k.VBLENDVPS(small, minus, f, f)
	k.VANDNPS(e, small, e)
	return k.logSum(c.log, e, f)
}

func gumbel(b *builder) {
	b.each("gumbel", func(k *kernel) {
		dst, bits, n := k.param("dst"), k.param("bits"), k.param("n")
		c := k.noise()
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			x := k.xor(k.negLog1p(c, k.load(at(bits, i, 0), sel)), c.sign)
			e, f := k.logReduce(c.log, x)
			k.store(k.xor(k.logSum(c.log, e, f), c.sign), at(dst, i, 0), sel)
		})
	})
	b.each("perturb", func(k *kernel) {
		y, w, noise, n := k.param("y"), k.param("w"), k.param("noise"), k.param("n")
		scale := k.splat("scale")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			v := k.add(k.load(at(w, i, 0), sel), k.load(at(noise, i, 0), sel))
			k.store(k.mul(v, scale), at(y, i, 0), sel)
		})
	})
	b.each("pull", func(k *kernel) {
		dst, y, d, n := k.param("dst"), k.param("y"), k.param("d"), k.param("n")
		mean, scale := k.splat("mean"), k.splat("scale")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			t := k.sub(k.load(at(d, i, 0), sel), mean)
			t = k.mul(k.mul(t, k.load(at(y, i, 0), sel)), scale)
			k.store(k.add(t, k.load(at(dst, i, 0), sel)), at(dst, i, 0), sel)
		})
	})
	b.each("entropy", func(k *kernel) {
		lane, p, w, n := k.param("lane"), k.param("p"), k.param("w"), k.param("n")
		c := &surprise{k: k, p: p, w: w, m: k.splat("m"), zero: k.vec(), one: k.f32(1)}
		k.clear(c.zero)
		for j := range 32 / k.w {
			c.acc = append(c.acc, k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil))
		}
		k.sixteen(w, n, c.term)
		for j, a := range c.acc {
			k.store(a, operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
	})
	b.each("entropyRows", func(k *kernel) {
		sum, p, w, cols, rows := k.param("sum"), k.param("p"), k.param("w"), k.param("cols"), k.param("rows")
		m := k.param("m")
		c := &surprise{k: k, p: p, w: w, m: k.vec(), zero: k.vec(), one: k.f32(1), acc: k.lanes()}
		k.clear(c.zero)
		k.Label("row")
		k.VBROADCASTSS(operand.Mem{Base: m}, c.m)
		for _, a := range c.acc {
			k.clear(a)
		}
		k.sixteen(w, cols, c.term)
		total := k.XMM()
		k.VXORPS(total, total, total)
		k.addLanes(c.acc, total)
		k.VMOVSD(total, operand.Mem{Base: sum})
		k.ADDQ(imm(8), sum)
		k.ADDQ(imm(4), m)
		k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
		k.LEAQ(operand.Mem{Base: w, Index: cols, Scale: 4}, w)
		k.DECQ(rows)
		k.JNZ(operand.LabelRef("row"))
	})
}

// surprise holds the operands from which the terms of refEntropy are computed.
type surprise struct {
	k       *kernel
	p, w    reg.GPVirtual
	m, zero reg.VecVirtual
	one     operand.Op
	acc     []reg.VecVirtual
}

// term adds the terms for a register of entries at i to the lanes.
func (c *surprise) term(i reg.GPVirtual, j int, sel *mask) {
	k := c.k
	d := k.load(at(c.w, i, 4*k.w*j), sel)
	k.VFMSUB132PS(c.one, c.m, d) // w·1 − m
	const notEqual = 4
	x := k.load(at(c.p, i, 4*k.w*j), sel)
	if k.wide() {
		m := k.K()
		k.VCMPPS(operand.U8(notEqual), c.zero, x, m)
		k.VMULPS_Z(x, d, m, d)
	} else {
		d = k.keep(k.mul(d, x), x, c.zero, notEqual)
	}
	if sel == nil { // reading the stored numbers back widens them without shuffles
		k.store(d, at(c.p, i, 4*k.w*j), nil)
		k.addFrom(at(c.p, i, 4*k.w*j), c.acc[2*j], c.acc[2*j+1])
		return
	}
	k.addWide(d, c.acc[2*j], c.acc[2*j+1])
}

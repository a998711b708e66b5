package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs writes the kernels over rows of two entries. A register holds half as many rows as it has
// lanes. The parameter rows is a multiple of 8, at least 8.
func pairs(b *builder) {
	b.each("pairRows", pairRows)
	b.each("softmaxPairs", softmaxPairs)
	b.each("pickPairs", pickPairs)
}

func (k *kernel) order(name string, words ...uint32) reg.VecVirtual {
	r := k.vec()
	k.VMOVUPS(k.table(name, words...), r)
	return r
}

func (k *kernel) evens() reg.VecVirtual {
	return k.order("evens", 0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0)
}

func (k *kernel) next(rows reg.GPVirtual, by ...interface{}) {
	for i := 0; i < len(by); i += 2 {
		k.ADDQ(imm(by[i+1].(int)), by[i].(reg.GPVirtual))
	}
	k.SUBQ(imm(k.w/2), rows)
	k.JNZ(operand.LabelRef("loop"))
}

func pairRows(k *kernel) {
	p, w, maxes, total, rows := k.param("p"), k.param("w"), k.param("max"), k.param("total"), k.param("rows")
	c := k.expConsts()
	least := k.resident(math.Float32bits(float32(math.Inf(-1))))
	evens := k.evens()
	var merge reg.VecVirtual
	if k.wide() {
		merge = k.order("merge", 0, 0, 2, 0, 4, 0, 6, 0, 1, 0, 3, 0, 5, 0, 7, 0)
	}
	zero := k.vec()
	k.clear(zero)
	k.Label("loop")
	v, other := k.load(operand.Mem{Base: w}, nil), k.vec()
	k.VPERMILPS(operand.U8(0xB1), v, other)
	m := k.larger(v, k.larger(other, least))
	m = k.keep(k.add(m, zero), m, least, 4)
	e := k.exp(c, k.sub(v, m))
	k.store(e, operand.Mem{Base: p}, nil)
	lo, hi, h := k.vec(), k.vec(), k.half()
	k.VPERMPS(m, evens, m)
	if k.wide() {
		k.VMOVUPS(m.AsY(), operand.Mem{Base: maxes})
		k.VCVTPS2PD(e.AsY(), lo)
		k.VEXTRACTF64X4(operand.U8(1), e, h)
		k.VCVTPS2PD(h, hi)
		a := k.vec()
		k.VUNPCKLPD(hi, lo, a)
		k.VUNPCKHPD(hi, lo, lo)
		k.VADDPD(lo, a, a)
		k.VPERMPD(a, merge, a)
		k.VMOVUPD(a, operand.Mem{Base: total})
	} else {
		k.VMOVUPS(m.AsX(), operand.Mem{Base: maxes})
		k.VCVTPS2PD(e.AsX(), lo)
		k.VEXTRACTF128(operand.U8(1), e, h)
		k.VCVTPS2PD(h, hi)
		k.VHADDPD(hi, lo, lo)
		k.VPERMPD(operand.U8(0xD8), lo, lo)
		k.VMOVUPD(lo, operand.Mem{Base: total})
	}
	k.next(rows, p, 4*k.w, w, 4*k.w, maxes, 2*k.w, total, 4*k.w)
}

func pickPairs(k *kernel) {
	idx, p, total, us, rows := k.param("idx"), k.param("p"), k.param("total"), k.param("u"), k.param("rows")
	evens := k.evens()
	one, none, redo, zero := k.f64("one", 1), k.f64("none", -1), k.f64("redo", -2), k.vec()
	k.clear(zero)
	const greater, notGreater = 14, 10
	// choose replaces the lanes of r by those of v where the comparison of a and b is true.
	choose := func(r reg.VecVirtual, v operand.Op, a, b reg.VecVirtual, predicate uint8) {
		if k.wide() {
			m := k.K()
			k.VCMPPD(operand.U8(predicate), b, a, m)
			k.VMOVAPD(v, m, r)
			return
		}
		m := k.vec()
		k.VCMPPD(operand.U8(predicate), b, a, m)
		k.VBLENDVPD(m, v, r, r)
	}
	k.Label("loop")
	t, target := k.load(operand.Mem{Base: total}, nil), k.vec()
	k.VMULPD(operand.Mem{Base: us}, t, target)
	v, first := k.load(operand.Mem{Base: p}, nil), k.vec()
	k.VPERMPS(v, evens, v)
	if k.wide() {
		k.VCVTPS2PD(v.AsY(), first)
	} else {
		k.VCVTPS2PD(v.AsX(), first)
	}
	r := k.vec()
	k.VMOVUPD(one, r)
	choose(r, zero, first, target, greater)
	choose(r, redo, t, target, notGreater)
	choose(r, none, t, zero, notGreater)
	if k.wide() {
		k.VCVTPD2DQ(r, r.AsY())
		k.VMOVUPS(r.AsY(), operand.Mem{Base: idx})
	} else {
		k.VCVTPD2DQY(r, r.AsX())
		k.VMOVUPS(r.AsX(), operand.Mem{Base: idx})
	}
	k.next(rows, idx, 2*k.w, p, 4*k.w, total, 4*k.w, us, 4*k.w)
}

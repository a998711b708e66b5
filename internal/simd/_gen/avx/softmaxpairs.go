package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmaxPairs computes one exponential per row, that of the smaller entry relative to the larger.
// With AVX-512 the exponentials of eight turns are computed side by side.
func softmaxPairs(k *kernel) {
	s := &pairTurn{k: k, dst: k.param("dst"), w: k.param("w"), exp: k.expMemory()}
	s.one, s.tiny = k.f64("one", 1), k.f64("tiny", 0x1p-125)
	s.inf, s.absolute = k.f32(math.Inf(1)), k.u32(1<<31-1)
	turns := k.param("turns")
	next := func(n int) {
		k.ADDQ(imm(8*k.w*n), s.w)
		k.ADDQ(imm(8*k.w*n), s.dst)
		k.SUBQ(imm(n), turns)
	}
	if k.wide() {
		k.Label("eight")
		k.CMPQ(turns, imm(8))
		k.JL(operand.LabelRef("loop"))
		var x [8]reg.VecVirtual
		all := k.K()
		for j := range x {
			a, b := s.entries(j)
			top, low := s.order(a, b)
			if m := s.finite(a, b, top); j == 0 {
				k.KMOVW(m, all)
			} else {
				k.KANDW(m, all, all)
			}
			x[j] = k.sub(low, top)
		}
		known := k.GP32()
		k.KMOVW(all, known)
		k.CMPL(known, imm(1<<16-1))
		k.JNE(operand.LabelRef("loop"))
		e := k.exps(s.exp, x, func(t reg.VecVirtual) {
			top, low := s.order(s.entries(7))
			k.VSUBPS(top, low, t)
		}, nil)
		for j := range e {
			s.finish(j, e[j])
		}
		next(8)
		k.JNZ(operand.LabelRef("eight"))
		k.JMP(operand.LabelRef("end"))
	}
	k.Label("loop")
	a, b := s.entries(0)
	top, low := s.order(a, b)
	known := k.GP32()
	if k.wide() {
		k.KMOVW(s.finite(a, b, top), known)
	} else {
		both, finite := k.vec(), k.vec()
		k.VCMPPS(operand.U8(ordered), a, b, both)
		k.VCMPPS(operand.U8(less), s.inf, k.and(top, s.absolute), finite)
		k.VANDPS(both, finite, finite)
		k.VMOVMSKPS(finite, known)
	}
	k.CMPL(known, imm(1<<k.w-1))
	k.JNE(operand.LabelRef("end"))
	s.finish(0, k.exp(s.exp, k.sub(low, top)))
	next(1)
	k.JNZ(operand.LabelRef("loop"))
	k.Label("end")
	k.Store(turns, k.ReturnIndex(0))
}

const less, notLess, ordered = 1, 5, 7

// pairTurn holds the operands of a turn, which processes as many rows as a register has lanes.
type pairTurn struct {
	k                        *kernel
	dst, w                   reg.GPVirtual
	exp                      expConsts
	one, tiny, inf, absolute operand.Op
}

// entries returns the first and the second entries of the rows of turn j, in an order that VUNPCK
// reverses.
func (s *pairTurn) entries(j int) (x, y reg.VecVirtual) {
	k := s.k
	a, b := k.load(operand.Mem{Base: s.w, Disp: 8 * k.w * j}, nil), k.load(operand.Mem{Base: s.w, Disp: 8*k.w*j + 4*k.w}, nil)
	x, y = k.vec(), k.vec()
	k.VSHUFPS(operand.U8(0x88), b, a, x)
	k.VSHUFPS(operand.U8(0xDD), b, a, y)
	return x, y
}

// order returns the larger and the smaller entry of every row.
func (s *pairTurn) order(x, y reg.VecVirtual) (top, low reg.VecVirtual) {
	top, low = s.k.vec(), s.k.vec()
	s.k.VMAXPS(x, y, top)
	s.k.VMINPS(x, y, low)
	return top, low
}

// finite returns, with AVX-512, the mask of the rows in which no entry is NaN and the larger is
// finite.
func (s *pairTurn) finite(x, y, top reg.VecVirtual) reg.OpmaskVirtual {
	both, finite := s.k.K(), s.k.K()
	s.k.VCMPPS(operand.U8(ordered), x, y, both)
	s.k.VCMPPS(operand.U8(less), s.inf, s.k.and(top, s.absolute), finite)
	s.k.KANDW(both, finite, finite)
	return finite
}

// finish stores the probabilities of turn j, given the weights e of the smaller entries relative to
// the larger ones.
func (s *pairTurn) finish(j int, e reg.VecVirtual) {
	k := s.k
	var scale, least [2]reg.VecVirtual
	for h := range scale {
		t, r, l, half := k.vec(), k.vec(), k.vec(), k.half()
		switch {
		case h == 0 && k.wide():
			k.VCVTPS2PD(e.AsY(), t)
		case h == 0:
			k.VCVTPS2PD(e.AsX(), t)
		case k.wide():
			k.VEXTRACTF64X4(operand.U8(1), e, half)
			k.VCVTPS2PD(half, t)
		default:
			k.VEXTRACTF128(operand.U8(1), e, half)
			k.VCVTPS2PD(half, t)
		}
		k.VADDPD(s.one, t, t)
		k.VMOVUPD(s.one, r)
		k.VDIVPD(t, r, r)
		k.VMULPD(s.tiny, t, l)
		if k.wide() {
			k.VCVTPD2PS(r, r.AsY())
			k.VCVTPD2PS(l, l.AsY())
		} else {
			k.VCVTPD2PSY(r, r.AsX())
			k.VCVTPD2PSY(l, l.AsX())
		}
		scale[h], least[h] = r, l
	}
	r, l := k.vec(), k.vec()
	if k.wide() {
		k.VINSERTF64X4(operand.U8(1), scale[1].AsY(), scale[0], r)
		k.VINSERTF64X4(operand.U8(1), least[1].AsY(), least[0], l)
	} else {
		k.VINSERTF128(operand.U8(1), scale[1].AsX(), scale[0], r)
		k.VINSERTF128(operand.U8(1), least[1].AsX(), least[0], l)
	}
	small := k.keep(k.mul(e, r), e, l, notLess)
	x, y := s.entries(j)
	px, py := k.vec(), k.vec()
	if k.wide() {
		below := k.K()
		k.VCMPPS(operand.U8(less), y, x, below)
		k.vmov(r, px)
		k.VMOVAPS(small, below, px)
		k.vmov(small, py)
		k.VMOVAPS(r, below, py)
	} else {
		below := k.vec()
		k.VCMPPS(operand.U8(less), y, x, below)
		k.VBLENDVPS(below, small, r, px)
		k.VBLENDVPS(below, r, small, py)
	}
	lo, hi := k.vec(), k.vec()
	k.VUNPCKLPS(py, px, lo)
	k.VUNPCKHPS(py, px, hi)
	k.store(lo, operand.Mem{Base: s.dst, Disp: 8 * k.w * j}, nil)
	k.store(hi, operand.Mem{Base: s.dst, Disp: 8*k.w*j + 4*k.w}, nil)
}

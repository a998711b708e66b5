package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weightState holds the registers whose contents are used by all rows.
type weightState struct {
	exp   expConsts
	floor reg.VecVirtual // floor of the weights; nil if there is none
	least operand.Op
	acc   []reg.VecVirtual // accumulators: 16 lanes of float64
}

func (k *kernel) weightState(floored bool) *weightState {
	s := &weightState{exp: k.expMemory(), least: k.f32(math.Inf(-1))}
	if floored {
		s.floor = k.splat("floor")
	}
	for range 32 / k.w {
		s.acc = append(s.acc, k.vec())
	}
	return s
}

// weights stores e^(w−m) for n ≥ 1 entries and adds the sums of their blocks to total.
func (k *kernel) weights(s *weightState, p, w, n reg.GPVirtual, m, total reg.VecVirtual) {
	one := func(j int, i reg.GPVirtual, sel *mask) {
		v := k.load(at(w, i, 4*k.w*j), sel)
		e := k.exp(s.exp, k.sub(v, m))
		if s.floor != nil {
			k.VMAXPS(e, s.floor, e)
			e = k.keep(e, v, s.least, 4)
		}
		k.store(e, at(p, i, 4*k.w*j), sel)
		if sel == nil { // reading the stored numbers back widens them without shuffles
			k.addFrom(at(p, i, 4*k.w*j), s.acc[2*j], s.acc[2*j+1])
			return
		}
		if k.wide() {
			k.VMOVAPS_Z(e, sel.k, e)
		} else {
			k.VANDPS(sel.y, e, e)
		}
		k.addWide(e, s.acc[2*j], s.acc[2*j+1])
	}
	i, full, start, limit := k.GP64(), k.GP64(), k.GP64(), k.GP64()
	block, loop, end, done, ready := k.label("block"), k.label("loop"), k.label("end"), k.label("done"), k.label("ready")
	k.XORQ(i, i)
	if k.wide() {
		k.wholes(s, p, w, i, n, m, total)
		k.CMPQ(i, n)
		k.JE(operand.LabelRef(ready))
	}
	k.MOVQ(i, start)
	k.MOVQ(n, full)
	k.ANDQ(operand.I8(-16), full)
	k.Label(block)
	for _, a := range s.acc {
		k.clear(a)
	}
	k.LEAQ(operand.Mem{Base: start, Disp: 128}, limit)
	k.CMPQ(limit, full)
	k.CMOVQGT(full, limit)
	k.CMPQ(i, limit)
	k.JGE(operand.LabelRef(end))
	k.Label(loop)
	for j := range 16 / k.w {
		one(j, i, nil)
	}
	k.ADDQ(imm(16), i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(loop))
	k.Label(end)
	// Unless the block is full, it also includes the partial turn.
	k.LEAQ(operand.Mem{Base: start, Disp: 128}, start)
	k.CMPQ(i, start)
	k.JGE(operand.LabelRef(done))
	k.tail(w, i, n, func(j int, _ operand.Mem, sel *mask) { one(j, i, sel) })
	k.Label(done)
	k.addLanes(s.acc, total)
	if !k.wide() {
		k.CMPQ(start, n)
		k.JL(operand.LabelRef(block))
	}
	k.Label(ready)
}

// wholes processes whole blocks of 128 entries with AVX-512, from i = 0 on, and leaves i after the
// last one. It sums a block while it computes the weights of the next. The first sum is over a
// block of zeros.
func (k *kernel) wholes(s *weightState, p, w, i, n reg.GPVirtual, m, total reg.VecVirtual) {
	loop, last := k.label("whole"), k.label("last")
	limit, before := k.GP64(), k.GP64()
	k.MOVQ(n, limit)
	k.ANDQ(operand.I8(-128), limit)
	k.JZ(operand.LabelRef(last))
	k.LEAQ(k.table("zeros", make([]uint32, 128)...), before)
	k.Label(loop)
	var x [8]reg.VecVirtual
	for j := range x {
		x[j] = k.vec()
		k.VMOVUPS(at(w, i, 64*j), x[j])
		k.VFMSUB132PS_BCST(s.exp.one, m, x[j])
	}
	e := k.exps(s.exp, x, func(t reg.VecVirtual) {
		k.VMOVUPS(at(w, i, 64*7), t)
		k.VSUBPS(m, t, t)
	}, func(step int) { k.addPart(s, before, step, total) })
	for j, v := range e {
		if s.floor != nil {
			const notEqual = 4
			some := k.K()
			k.VCMPPS(operand.U8(notEqual), at(w, i, 64*j), s.least, some)
			k.VMAXPS_Z(v, s.floor, some, v)
		}
		k.VMOVUPS(v, at(p, i, 64*j))
	}
	k.LEAQ(at(p, i, 0), before)
	k.ADDQ(imm(128), i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(loop))
	for step := range 9 {
		k.addPart(s, before, step, total)
	}
	k.Label(last)
}

// addPart performs one of the nine steps that add the 128 weights at p to total.
func (k *kernel) addPart(s *weightState, p reg.GPVirtual, step int, total reg.VecVirtual) {
	if step == 8 {
		k.addLanes(s.acc, total)
		return
	}
	for h, acc := range s.acc {
		if step == 0 {
			k.clear(acc)
		}
		v := k.vec()
		k.VCVTPS2PD(operand.Mem{Base: p, Disp: 64*step + 32*h}, v)
		k.VADDPD(v, acc, acc)
	}
}

// addWide adds a register of float32 to two registers of float64.
func (k *kernel) addWide(v, lo, hi reg.VecVirtual) {
	a, b, h := k.vec(), k.vec(), k.half()
	if k.wide() {
		k.VCVTPS2PD(v.AsY(), a)
		k.VEXTRACTF64X4(operand.U8(1), v, h)
	} else {
		k.VCVTPS2PD(v.AsX(), a)
		k.VEXTRACTF128(operand.U8(1), v, h)
	}
	k.VCVTPS2PD(h, b)
	k.VADDPD(a, lo, lo)
	k.VADDPD(b, hi, hi)
}

// addLanes adds 16 lanes pairwise, and then their sum to total. It destroys acc.
func (k *kernel) addLanes(acc []reg.VecVirtual, total reg.VecVirtual) {
	a, h := acc[0], k.YMM()
	y, x := a.AsY(), a.AsX()
	if k.wide() {
		k.VADDPD(acc[1], a, a)
		k.VEXTRACTF64X4(operand.U8(1), a, h)
		k.VADDPD(h, y, y)
	} else {
		k.VADDPD(acc[2], a, a)
		k.VADDPD(acc[3], acc[1], acc[1])
		k.VADDPD(acc[1], a, a)
	}
	k.upper(y, h.AsX())
	k.VADDPD(h.AsX(), x, x)
	k.VPERMILPD(operand.U8(1), x, h.AsX())
	k.VADDSD(h.AsX(), x, x)
	k.VADDSD(x, total, total)
}

// upper extracts the upper half of a YMM register.
func (k *kernel) upper(y, x reg.Register) {
	if k.wide() {
		k.VEXTRACTF32X4(operand.U8(1), y, x)
	} else {
		k.VEXTRACTF128(operand.U8(1), y, x)
	}
}

package avx

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels in this file draw from rows of weights without a branch that depends on the result.
// They search eight rows, one after the other, for the group of 16 weights that contains the draw.
// Then they search these eight groups together, one in each lane.

const lessOrEqual, above = 18, 30 // comparison predicates that raise no exception for NaN

// rowPick holds the registers of the search within a row.
type rowPick struct {
	k             *kernel
	acc           []reg.VecVirtual
	rest          *mask             // mask of the row's last entries that do not fill a register
	upper         reg.OpmaskVirtual // upper half of the mask rest
	p, cols, from reg.GPVirtual     // weights, number of entries of a row, index of its first entry
	// Sum of the entries passed, including and excluding the current group.
	sum, below reg.VecVirtual
	target     reg.VecVirtual
	start      reg.GPVirtual // index of the first entry of the group found
}

// pass adds up the lanes. If the sum is not above the target, it moves start past the 16·2^log
// entries that were summed.
func (s *rowPick) pass(log int) {
	m, passed := s.k.K(), s.k.GP64()
	s.k.addLanes(s.acc, s.sum)
	s.k.VCMPSD(operand.U8(lessOrEqual), s.target, s.sum, m)
	s.k.VMOVSD(s.sum, s.below, m, s.below)
	s.k.KMOVB(m, passed.As32())
	s.k.SHLQ(operand.U8(4+log), passed)
	s.k.ADDQ(passed, s.start)
}

// pickEight draws from eight rows at a time. It finds the group of entries row by row, and then the
// entry within the group for all eight rows at once.
func pickEight(k *kernel, row func(s *rowPick)) {
	idx, p, totals, us := k.param("idx"), k.param("p"), k.param("total"), k.param("u")
	rows, cols := k.param("rows"), k.param("cols")
	const lanes = 8
	before, starts, targets := k.AllocLocal(8*lanes), k.AllocLocal(8*lanes), k.AllocLocal(8*lanes)
	rest := k.remainder(cols)
	upper := k.K()
	k.KSHIFTRW(operand.U8(8), rest.k, upper)
	one := k.u64("integer1", 1).(reg.VecVirtual)
	turn := k.u64("integer16", 16).(reg.VecVirtual)
	none, redo := k.u64("none64", math.MaxUint64).(reg.VecVirtual), k.u64("redo64", math.MaxUint64-1).(reg.VecVirtual)
	acc := k.lanes()
	zero := k.vec()
	k.clear(zero)
	width, end, first := k.vec(), k.vec(), k.GP64() // number of entries of a row and of all rows
	k.VPBROADCASTQ(cols, width)
	all := k.GP64()
	k.MOVQ(cols, all)
	k.IMULQ(rows, all)
	k.VPBROADCASTQ(all, end)
	k.XORQ(first, first)

	k.Label("rows")
	t := k.vec()
	k.VMOVUPD(operand.Mem{Base: us}, t)
	k.VMULPD(operand.Mem{Base: totals}, t, t)
	k.VMOVUPD(t, targets)
	r, from := k.GP64(), k.GP64()
	k.XORQ(r, r)
	k.MOVQ(first, from)
	k.Label("row")
	s := &rowPick{k: k, acc: acc, rest: rest, upper: upper, p: p, cols: cols, from: from,
		sum: k.XMM(), below: k.XMM(), target: k.XMM(), start: k.GP64()}
	k.VXORPS(s.sum, s.sum, s.sum)
	k.VXORPS(s.below, s.below, s.below)
	k.VMOVSD(targets.Idx(r, 8), s.target)
	k.MOVQ(from, s.start)
	row(s)
	k.VMOVSD(s.target, targets.Idx(r, 8))
	k.VMOVSD(s.below, before.Idx(r, 8))
	k.MOVQ(s.start, starts.Idx(r, 8))
	k.ADDQ(cols, from)
	k.INCQ(r)
	k.CMPQ(r, imm(lanes))
	k.JL(operand.LabelRef("row"))

	at, count, total, prefix, left := k.vec(), k.vec(), k.vec(), k.vec(), k.vec()
	k.VMOVDQU64(starts, at)
	k.VMOVUPD(targets, left)
	k.VSUBPD(before, left, left)
	k.VMOVUPD(operand.Mem{Base: totals}, total)
	k.VMULPD(operand.Mem{Base: us}, total, t)
	k.clear(count)
	k.clear(prefix)
	for range 16 {
		in, m, v, wide := k.K(), k.K(), k.YMM(), k.vec()
		k.VPCMPQ(operand.U8(1), end, at, in) // prevents reads beyond the last row
		k.VXORPS(v, v, v)
		k.VGATHERQPS(operand.Mem{Base: p, Index: at, Scale: 4}, in, v)
		k.VCVTPS2PD(v, wide)
		k.VADDPD(wide, prefix, prefix)
		k.VCMPPD(operand.U8(lessOrEqual), left, prefix, m)
		k.VPADDQ(one, count, m, count)
		k.VPADDQ(one, at, at)
	}
	// The level is that of the first entry whose partial sum exceeds the target.
	level, m := k.vec(), k.K()
	k.VMOVDQU64(starts, level)
	k.VPADDQ(count, level, level)
	base := k.vec()
	k.VPBROADCASTQ(first, base)
	k.VPSUBQ(base, level, level)
	k.VPMULLQ(k.eight(), width, base)
	k.VPSUBQ(base, level, level)
	// No entry of the group was found, because sums differ by rounding.
	k.VPCMPQ(operand.U8(0), turn, count, m)
	k.VMOVDQA64(redo, m, level)
	k.VPCMPQ(operand.U8(5), width, level, m) // the level is beyond the row
	k.VMOVDQA64(redo, m, level)
	k.VCMPPD(operand.U8(above), t, total, m) // u·total rounded up to total
	k.KNOTB(m, m)
	k.VMOVDQA64(redo, m, level)
	k.VCMPPD(operand.U8(above), zero, total, m)
	k.KNOTB(m, m)
	k.VMOVDQA64(none, m, level)
	out := k.YMM()
	k.VPMOVQD(level, out)
	k.VMOVDQU(out, operand.Mem{Base: idx})
	k.MOVQ(from, first)
	k.ADDQ(imm(4*lanes), idx)
	k.ADDQ(imm(8*lanes), totals)
	k.ADDQ(imm(8*lanes), us)
	k.SUBQ(imm(lanes), rows)
	k.JNZ(operand.LabelRef("rows"))
}

// pickGroups searches the groups of a row that is shorter than a block.
func pickGroups(s *rowPick) {
	q := s.k.GP64()
	s.k.LEAQ(operand.Mem{Base: s.p, Index: s.from, Scale: 4}, q)
	s.k.turns(s.cols, s.rest, func(i reg.GPVirtual, sel *mask) {
		for h, acc := range s.acc {
			if sel == nil {
				s.k.VCVTPS2PD(at(q, i, 32*h), acc)
			} else {
				s.k.VCVTPS2PD_Z(at(q, i, 32*h), s.partial(h), acc)
			}
		}
		s.pass(0)
	})
}

// partial returns the mask of the row's last entries that do not fill a register, for half h of it.
func (s *rowPick) partial(h int) reg.OpmaskVirtual {
	if h == 0 {
		return s.rest.k
	}
	return s.upper
}

// pickBlocks searches the blocks of 128 entries, and then the groups of the block found.
func pickBlocks(s *rowPick) {
	q, left := s.k.GP64(), s.k.GP64()
	s.k.LEAQ(operand.Mem{Base: s.p, Index: s.from, Scale: 4}, q)
	s.k.MOVQ(s.cols, left)
	turn := func() {
		s.k.addFrom(operand.Mem{Base: q}, s.acc[0], s.acc[1])
		s.k.ADDQ(imm(64), q)
		s.k.SUBQ(imm(16), left)
	}
	s.k.Label("block")
	for _, acc := range s.acc {
		s.k.clear(acc)
	}
	s.k.CMPQ(left, imm(128))
	s.k.JL(operand.LabelRef("rest"))
	for step := range 8 {
		s.k.addFrom(operand.Mem{Base: q, Disp: 64 * step}, s.acc[0], s.acc[1])
	}
	s.k.ADDQ(imm(512), q)
	s.k.SUBQ(imm(128), left)
	s.pass(3)
	s.k.JMP(operand.LabelRef("block"))
	s.k.Label("rest") // handles a block that is not full
	s.k.TESTQ(left, left)
	s.k.JZ(operand.LabelRef("passed"))
	s.k.Label("turn")
	s.k.CMPQ(left, imm(16))
	s.k.JL(operand.LabelRef("part"))
	turn()
	s.k.JMP(operand.LabelRef("turn"))
	s.k.Label("part")
	for h, acc := range s.acc {
		v := s.k.vec()
		s.k.VCVTPS2PD_Z(operand.Mem{Base: q, Disp: 32 * h}, s.partial(h), v)
		s.k.VADDPD(v, acc, acc)
	}
	s.pass(3)
	s.k.Label("passed")

	s.k.VSUBSD(s.below, s.target, s.target)
	s.k.VXORPS(s.sum, s.sum, s.sum)
	s.k.VXORPS(s.below, s.below, s.below)
	s.k.LEAQ(operand.Mem{Base: s.p, Index: s.start, Scale: 4}, q)
	s.k.MOVQ(s.from, left)
	s.k.ADDQ(s.cols, left)
	s.k.SUBQ(s.start, left) // entries to the end of the row
	none, all := s.k.GP64(), s.k.GP64()
	s.k.XORQ(none, none)
	s.k.MOVQ(imm(128), all)
	s.k.CMPQ(left, all)
	s.k.CMOVQGT(all, left)
	for g := range 8 {
		n, upper := s.k.GP64(), s.k.K()
		s.k.MOVQ(left, n)
		s.k.SUBQ(imm(16*g), n)
		s.k.CMOVQLT(none, n)
		in := s.k.leading(n)
		s.k.KSHIFTRW(operand.U8(8), in.k, upper)
		for h, m := range []reg.OpmaskVirtual{in.k, upper} {
			s.k.VCVTPS2PD_Z(operand.Mem{Base: q, Disp: 64*g + 32*h}, m, s.acc[h])
		}
		s.pass(0)
	}
	last, end := s.k.GP64(), s.k.GP64() // ends of the block and of the row
	s.k.MOVQ(q, last)
	s.k.SUBQ(s.p, last)
	s.k.SHRQ(operand.U8(2), last)
	s.k.ADDQ(imm(128), last)
	s.k.MOVQ(s.from, end)
	s.k.ADDQ(s.cols, end)
	s.k.CMPQ(s.start, last) // no entry of the block was found, because sums differ by rounding
	s.k.CMOVQGE(end, s.start)
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func pick(b *builder) {
	b.each("pickRow", func(k *kernel) {
		p, n := k.param("p"), k.param("n")
		target, before := k.XMM(), k.XMM()
		k.Load(k.Param("target"), target)
		k.Load(k.Param("before"), before)
		k.Store(k.pick(k.lanes(), p, n, target, before), k.ReturnIndex(0))
	})
	b.each("pickRows", func(k *kernel) {
		idx, p, totals, us := k.param("idx"), k.param("p"), k.param("total"), k.param("u")
		rows, cols := k.param("rows"), k.param("cols")
		acc := k.lanes()
		k.Label("row")
		target, zero, at := k.XMM(), k.XMM(), k.GP64()
		k.VXORPD(zero, zero, zero)
		k.VMOVSD(operand.Mem{Base: totals}, target)
		k.MOVQ(operand.I32(-1), at)
		k.VUCOMISD(zero, target)
		k.JLS(operand.LabelRef("next")) // if total is ≤ 0 or NaN
		k.VMULSD(operand.Mem{Base: us}, target, target)
		k.MOVQ(k.pick(acc, p, cols, target, zero), at)
		k.Label("next")
		k.MOVL(at.As32(), operand.Mem{Base: idx})
		k.LEAQ(operand.Mem{Base: p, Index: cols, Scale: 4}, p)
		k.ADDQ(imm(4), idx)
		k.ADDQ(imm(8), totals)
		k.ADDQ(imm(8), us)
		k.DECQ(rows)
		k.JNZ(operand.LabelRef("row"))
	})
}

// lanes allocates registers for 16 lanes of float64.
func (k *kernel) lanes() []reg.VecVirtual {
	var acc []reg.VecVirtual
	for range 32 / k.w {
		acc = append(acc, k.vec())
	}
	return acc
}

// pick searches blocks of 128, then groups of 16, then single weights, and returns the index. It
// destroys before and target.
func (k *kernel) pick(acc []reg.VecVirtual, p, n reg.GPVirtual, target, before reg.VecVirtual) reg.GPVirtual {
	i, full, stop, limit := k.GP64(), k.GP64(), k.GP64(), k.GP64()
	next := k.XMM()
	found := k.label("found")

	// turn adds the 16 weights at index i, or the rest of them, to the lanes.
	turn := func() {
		for j := range 16 / k.w {
			k.addFrom(at(p, i, 4*k.w*j), acc[2*j], acc[2*j+1])
		}
	}
	clear := func() {
		for _, a := range acc {
			k.clear(a)
		}
	}
	rest := func() {
		k.tail(p, i, n, func(j int, v operand.Mem, sel *mask) {
			k.addWide(k.load(v, sel), acc[2*j], acc[2*j+1])
		})
	}
	// cross adds the lanes to before and jumps if that exceeds target.
	cross := func(to string) {
		k.vmovX(before, next)
		k.addLanes(acc, next)
		k.VUCOMISD(target, next)
		k.JHI(operand.LabelRef(to))
		k.vmovX(next, before)
	}

	k.MOVQ(n, full)
	k.ANDQ(operand.I8(-16), full)
	k.XORQ(i, i)
	k.XORQ(stop, stop)
	block, loop, end, done := k.label("block"), k.label("loop"), k.label("end"), k.label("done")
	inBlock := k.label("inBlock")
	k.Label(block)
	clear()
	k.ADDQ(imm(128), stop)
	k.MOVQ(stop, limit)
	k.CMPQ(limit, full)
	k.CMOVQGT(full, limit)
	k.CMPQ(i, limit)
	k.JGE(operand.LabelRef(end))
	k.Label(loop)
	turn()
	k.ADDQ(imm(16), i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(loop))
	k.Label(end)
	k.CMPQ(i, stop)
	k.JGE(operand.LabelRef(done))
	rest()
	k.Label(done)
	cross(inBlock)
	k.CMPQ(stop, n)
	k.JL(operand.LabelRef(block))
	k.MOVQ(operand.I32(-2), i)
	k.JMP(operand.LabelRef(found))

	// Search the groups of the block that ends at stop.
	k.Label(inBlock)
	k.VSUBSD(before, target, target)
	k.VXORPD(before, before, before)
	k.LEAQ(operand.Mem{Base: stop, Disp: -128}, i)
	k.CMPQ(stop, n)
	k.CMOVQGT(n, stop)
	group, whole, summed, inGroup := k.label("group"), k.label("whole"), k.label("summed"), k.label("inGroup")
	k.Label(group)
	clear()
	k.CMPQ(i, full)
	k.JL(operand.LabelRef(whole))
	rest()
	k.JMP(operand.LabelRef(summed))
	k.Label(whole)
	turn()
	k.Label(summed)
	cross(inGroup)
	k.ADDQ(imm(16), i)
	k.CMPQ(i, stop)
	k.JL(operand.LabelRef(group))
	k.MOVQ(operand.I32(-2), i)
	k.JMP(operand.LabelRef(found))

	// Search the weights of the group at i.
	k.Label(inGroup)
	k.VSUBSD(before, target, target)
	k.VXORPD(before, before, before)
	k.LEAQ(operand.Mem{Base: i, Disp: 16}, limit)
	k.CMPQ(limit, stop)
	k.CMOVQGT(stop, limit)
	single := k.label("single")
	k.Label(single)
	k.VXORPD(next, next, next)
	k.VCVTSS2SD(at(p, i, 0), next, next)
	k.VADDSD(next, before, before)
	k.VUCOMISD(target, before)
	k.JHI(operand.LabelRef(found))
	k.INCQ(i)
	k.CMPQ(i, limit)
	k.JL(operand.LabelRef(single))
	k.MOVQ(operand.I32(-2), i)
	k.Label(found)
	return i
}

func (k *kernel) vmovX(from, to reg.VecVirtual) { k.VMOVAPD(from, to) }

// addFrom adds a register's width of float32 in memory to two registers of float64.
func (k *kernel) addFrom(m operand.Mem, lo, hi reg.VecVirtual) {
	a, b := k.vec(), k.vec()
	k.VCVTPS2PD(m, a)
	k.VCVTPS2PD(m.Offset(2*k.w), b)
	k.VADDPD(a, lo, lo)
	k.VADDPD(b, hi, hi)
}

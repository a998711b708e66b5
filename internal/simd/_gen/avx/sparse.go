package avx

import (
	"github.com/mmcloughlin/avo/operand"
)

func sparse(b *builder) {
	b.each("sparse", func(k *kernel) {
		dst, start, adj, w := k.param("dst"), k.param("start"), k.param("adj"), k.param("w")
		x, rows := k.param("x"), k.param("rows")
		acc := k.lanes()
		k.Label("row")
		i, end, full := k.GP64(), k.GP64(), k.GP64()
		k.MOVLQSX(operand.Mem{Base: start}, i)
		k.MOVLQSX(operand.Mem{Base: start, Disp: 4}, end)
		for _, a := range acc {
			k.clear(a)
		}
		term := func(j int, sel *mask) {
			states := k.vec()
			k.clear(states)
			idx := k.load(at(adj, i, 4*k.w*j), sel)
			weights := operand.Mem{Base: w, Index: i, Scale: 8, Disp: 8 * k.w * j}
			lo, hi, half := k.vec(), k.vec(), k.half()
			if k.wide() {
				m := k.K()
				if sel == nil {
					k.KXNORW(m, m, m)
				} else {
					k.KMOVW(sel.k, m)
				}
				k.VPGATHERDD(operand.Mem{Base: x, Index: idx, Scale: 4}, m, states)
				k.VCVTDQ2PD(states.AsY(), lo)
				k.VEXTRACTI64X4(operand.U8(1), states, half)
				k.VCVTDQ2PD(half, hi)
			} else {
				m := k.vec()
				if sel == nil {
					k.VPCMPEQD(m, m, m)
				} else {
					k.vmov(sel.y, m)
				}
				k.VPGATHERDD(m, operand.Mem{Base: x, Index: idx, Scale: 4}, states)
				k.VCVTDQ2PD(states.AsX(), lo)
				k.VEXTRACTI128(operand.U8(1), states, half)
				k.VCVTDQ2PD(half, hi)
			}
			upper := weights.Offset(4 * k.w)
			switch {
			case sel == nil:
				k.VMULPD(weights, lo, lo)
				k.VMULPD(upper, hi, hi)
			case k.wide():
				top := k.K()
				k.KSHIFTRW(operand.U8(8), sel.k, top)
				k.VMULPD_Z(weights, lo, sel.k, lo)
				k.VMULPD_Z(upper, hi, top, hi)
			default:
				m, v := k.vec(), k.vec()
				k.VPMOVSXDQ(sel.y.AsX(), m)
				k.VMASKMOVPD(weights, m, v)
				k.VMULPD(v, lo, lo)
				k.VEXTRACTI128(operand.U8(1), sel.y, half)
				k.VPMOVSXDQ(half, m)
				k.VMASKMOVPD(upper, m, v)
				k.VMULPD(v, hi, hi)
			}
			k.VADDPD(lo, acc[2*j], acc[2*j])
			k.VADDPD(hi, acc[2*j+1], acc[2*j+1])
		}
		k.MOVQ(end, full)
		k.SUBQ(imm(16), full)
		k.Label("loop")
		k.CMPQ(i, full)
		k.JG(operand.LabelRef("rest"))
		for j := range 16 / k.w {
			term(j, nil)
		}
		k.ADDQ(imm(16), i)
		k.JMP(operand.LabelRef("loop"))
		k.Label("rest")
		k.tail(adj, i, end, func(j int, _ operand.Mem, sel *mask) { term(j, sel) })
		sum := k.XMM()
		k.VXORPD(sum, sum, sum)
		k.addLanes(acc, sum)
		k.VMOVSD(sum, operand.Mem{Base: dst})
		k.ADDQ(imm(8), dst)
		k.ADDQ(imm(4), start)
		k.DECQ(rows)
		k.JNZ(operand.LabelRef("row"))
	})
}

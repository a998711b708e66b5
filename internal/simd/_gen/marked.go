package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// marked writes the sum over entries that bits mark.
func marked(b *builder) {
	b.each("sumMarked", "func(lane *[16]float64, x *float32, bits *uint16, groups int)",
		"adds the entries of groups ≥ 1 groups of 16 whose bit is set to the lanes, 0 for the others.", func(k *kernel) {
			lane, x, bits, groups := k.param("lane"), k.param("x"), k.param("bits"), k.param("groups")
			acc := make([]reg.VecVirtual, 32/k.w)
			for j := range acc {
				acc[j] = k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
			var places reg.VecVirtual
			if !k.wide() {
				places = k.YMM()
				k.VMOVDQU(k.table("places", 1, 2, 4, 8, 16, 32, 64, 128), places)
			}
			loop := k.label("loop")
			k.Label(loop)
			for j := range 16 / k.w {
				from := operand.Mem{Base: x, Disp: 4 * k.w * j}
				v := k.vec()
				if k.wide() {
					m := k.K()
					k.KMOVW(operand.Mem{Base: bits}, m)
					k.VMOVUPS_Z(from, m, v)
				} else {
					own := k.YMM()
					k.VPBROADCASTB(operand.Mem{Base: bits, Disp: j}, own)
					k.VPAND(places, own, own)
					k.VPCMPEQD(places, own, own)
					k.VMASKMOVPS(from, own, v)
				}
				k.addWide(v, acc[2*j], acc[2*j+1])
			}
			k.ADDQ(imm(64), x)
			k.ADDQ(imm(2), bits)
			k.DECQ(groups)
			k.JNZ(operand.LabelRef(loop))
			for j := range acc {
				k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
		})
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is the distance, in bytes, at which rows are prefetched that are read from memory during
// the computation.
const ahead = 3072

// marked writes the kernel for sums over marked entries.
func marked(b *builder) {
	b.each("weightsMarked", func(k *kernel) {
		lane, p, w := k.param("lane"), k.param("p"), k.param("w")
		marks := []reg.GPVirtual{k.param("a"), k.param("b")}
		groups, m, c := k.param("groups"), k.splat("m"), k.expConsts()
		acc := make([]reg.VecVirtual, 2*32/k.w)
		for j := range acc {
			acc[j] = k.vec()
			k.clear(acc[j])
		}
		var places reg.VecVirtual
		if !k.wide() {
			places = k.YMM()
			k.VMOVDQU(k.table("places", 1, 2, 4, 8, 16, 32, 64, 128), places)
		}
		loop := k.label("loop")
		k.Label(loop)
		k.PREFETCHT0(operand.Mem{Base: w, Disp: ahead})
		for j := range 16 / k.w {
			e := k.exp(c, k.sub(k.load(operand.Mem{Base: w, Disp: 4 * k.w * j}, nil), m))
			k.store(e, operand.Mem{Base: p, Disp: 4 * k.w * j}, nil)
			if !k.wide() {
				for i, bits := range marks {
					own := k.YMM()
					k.VPBROADCASTB(operand.Mem{Base: bits, Disp: j}, own)
					k.VPAND(places, own, own)
					k.VPCMPEQD(places, own, own)
					k.VPAND(e, own, own)
					k.addWide(own, acc[4*i+2*j], acc[4*i+2*j+1])
				}
				continue
			}
			low, high, h := k.vec(), k.vec(), k.half()
			k.VCVTPS2PD(e.AsY(), low)
			k.VEXTRACTF64X4(operand.U8(1), e, h)
			k.VCVTPS2PD(h, high)
			for i, bits := range marks {
				at := k.K()
				k.KMOVW(operand.Mem{Base: bits}, at)
				k.VADDPD(low, acc[2*i], at, acc[2*i])
				k.KSHIFTRW(operand.U8(8), at, at)
				k.VADDPD(high, acc[2*i+1], at, acc[2*i+1])
			}
		}
		k.ADDQ(imm(64), w)
		k.ADDQ(imm(64), p)
		for _, bits := range marks {
			k.ADDQ(imm(2), bits)
		}
		k.DECQ(groups)
		k.JNZ(operand.LabelRef(loop))
		for j := range acc {
			k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
	})
}

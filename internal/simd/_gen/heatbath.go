package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// heatBath redraws every second of n = 16k sites of a row, sharing out one word
// of random bits to two lanes: a word widens to 64 bits and, for the odd lanes,
// moves to the upper half.
func heatBath(b *builder) {
	b.each("heatBath", "func(out *[3]int, table *[8]int32, above, row, below *int32, bits *uint32, shift uint64, n int)",
		"redraws n = 16k sites from row[1] on, the even lanes if shift is 0 and the odd ones if it is 32, and adds moves, and changes of pairs and of sites, to out.",
		func(k *kernel) {
			above, row, below, bits, n := k.param("above"), k.param("row"), k.param("below"), k.param("bits"), k.param("n")
			table, shift := k.param("table"), k.XMM()
			p, err := k.Param("shift").Resolve()
			if err != nil {
				panic(err)
			}
			k.VMOVQ(p.Addr, shift)
			values, one := k.vec(), k.resident(1)
			if k.wide() {
				k.VBROADCASTI32X8(operand.Mem{Base: table}, values)
			} else {
				k.VMOVDQU(operand.Mem{Base: table}, values)
			}
			// active has all bits set in the lanes to redraw.
			active := k.vec()
			words := []uint32{}
			for range 8 {
				words = append(words, 0xffffffff, 0)
			}
			k.VMOVUPS(k.table("evenLanes", words...), active)
			k.VPSLLQ(shift, active, active)
			var lanes reg.OpmaskVirtual
			if k.wide() {
				lanes = k.K()
				k.VPMOVD2M(active, lanes)
			}
			moved, pairs, up := k.vec(), k.vec(), k.vec()
			for _, r := range []reg.VecVirtual{moved, pairs, up} {
				k.clear(r)
			}
			before := k.vec()
			k.VPBROADCASTD(operand.Mem{Base: row}, before)
			i := k.GP64()
			k.XORQ(i, i)
			k.Label("loop")
			// The left neighbours come from registers: in memory they would
			// straddle the store of the turn before, which stalls the load.
			count, own := k.vec(), k.load(at(row, i, 4), nil)
			if k.wide() {
				k.VALIGND(operand.U8(15), before, own, count)
				k.vmov(own, before)
			} else {
				k.VPERM2I128(operand.U8(0x21), own, before, count)
				k.vmov(own, before)
				k.VPALIGNR(operand.U8(12), count, own, count)
			}
			for _, m := range []operand.Mem{at(row, i, 8), at(above, i, 4), at(below, i, 4)} {
				k.VPADDD(m, count, count)
			}
			t, r, d := k.vec(), k.vec(), k.vec()
			k.VPERMD(values, count, t)
			k.VPMOVZXDQ(operand.Mem{Base: bits, Index: i, Scale: 2}, r)
			k.VPSLLQ(shift, r, r)
			k.VPSRLD(operand.U8(1), r, r)
			if k.wide() {
				m := k.K()
				k.VPCMPGTD(r, t, lanes, m)
				k.VMOVDQA32_Z(one, m, t)
				k.VPSUBD_Z(own, t, lanes, d)
				k.VMOVDQU32(t, lanes, at(row, i, 4))
			} else {
				k.VPCMPGTD(r, t, t)
				k.VPAND(one, t, t)
				k.VPSUBD(own, t, d)
				k.VPAND(active, d, d)
				k.VPADDD(d, own, own)
				k.VMOVDQU(own, at(row, i, 4))
			}
			k.VPADDD(d, up, up)
			k.VPMULLD(d, count, count)
			k.VPADDD(count, pairs, pairs)
			k.VPABSD(d, d)
			k.VPADDD(d, moved, moved)
			k.ADDQ(imm(k.w), i)
			k.CMPQ(i, n)
			k.JL(operand.LabelRef("loop"))
			out := k.param("out")
			for j, v := range []reg.VecVirtual{moved, pairs, up} {
				g := k.addWords(v)
				k.MOVLQSX(g, g.As64())
				k.ADDQ(g.As64(), operand.Mem{Base: out, Disp: 8 * j})
			}
		})
}

// addWords adds the lanes of 32-bit integers; v is destroyed.
func (k *kernel) addWords(v reg.VecVirtual) reg.GPVirtual {
	y, x, t, g := v.AsY(), v.AsX(), k.YMM(), k.GP32()
	if k.wide() {
		k.VEXTRACTI64X4(operand.U8(1), v, t)
		k.VPADDD(t, y, y)
	}
	k.upper(y, t.AsX())
	k.VPADDD(t.AsX(), x, x)
	k.VPSHUFD(operand.U8(0xEE), x, t.AsX())
	k.VPADDD(t.AsX(), x, x)
	k.VPSHUFD(operand.U8(0x55), x, t.AsX())
	k.VPADDD(t.AsX(), x, x)
	k.VMOVD(x, g)
	return g
}

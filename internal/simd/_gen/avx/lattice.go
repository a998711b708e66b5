package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func lattice(b *builder) {
	b.each("torusInner", func(k *kernel) {
		h, table, n := k.param("h"), k.param("table"), k.param("n")
		above, row, below := k.param("above"), k.param("row"), k.param("below")
		values, pairs, up := k.vec(), k.vec(), k.vec()
		if k.wide() {
			k.VBROADCASTF32X8(operand.Mem{Base: table}, values)
		} else {
			k.VMOVUPS(operand.Mem{Base: table}, values)
		}
		k.clear(pairs)
		k.clear(up)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			count := k.load(at(row, i, 0), sel)
			here := k.load(at(row, i, 4), sel)
			for _, m := range []operand.Mem{at(row, i, 8), at(above, i, 0), at(below, i, 0)} {
				k.VPADDD(k.load(m, sel), count, count)
			}
			k.VPADDD(here, up, up)
			v := k.vec()
			k.VPMULLD(count, here, here)
			k.VPADDD(here, pairs, pairs)
			k.VPERMPS(values, count, v)
			k.store(v, at(h, i, 0), sel)
		})
		out := k.param("out")
		for j, v := range []reg.VecVirtual{pairs, up} {
			g := k.addWords(v)
			k.MOVQ(g.As64(), operand.Mem{Base: out, Disp: 8 * j})
		}
	})
}

// addWords returns the sum of the 32-bit lanes of v, which it destroys.
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

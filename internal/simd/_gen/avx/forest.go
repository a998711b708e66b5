package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Fields of a ForestLink, a ForestBond and a ForestPendant, and their sizes.
const (
	linkSite, linkParent, linkPlace, linkCouple, linkSize = 0, 4, 8, 24, 32
	bondTo, bondFactor, bondSize                          = 4, 16, 24
	pendantHigh, pendantSize                              = 8, 16
)

// forest writes the kernels of forests of eight chains: a register has the odds of a site, and a
// byte is the mask of the chains at level 1.
func forest(b *builder) {
	field := func(p reg.Register, disp int) operand.Mem { return operand.Mem{Base: p, Disp: disp} }
	// number loads a number of 32 bits that is not negative.
	number := func(k *kernel, m operand.Mem) reg.GPVirtual {
		r := k.GP64()
		k.MOVL(m, r.As32())
		return r
	}
	// levels loads the mask of a site.
	levels := func(k *kernel, own reg.Register, m operand.Mem) reg.OpmaskVirtual {
		r := k.K()
		k.KMOVB(operand.Mem{Base: own, Index: number(k, m), Scale: 1}, r)
		return r
	}
	one := func(k *kernel) reg.VecVirtual {
		r := k.ZMM()
		k.VPBROADCASTQ(k.table("one", 0, 0x3ff00000), r)
		return r
	}
	b.one(16, "forestOdds", func(k *kernel) {
		odds, own, fields, bonds := k.param("odds"), k.param("own"), k.param("field"), k.param("bonds")
		from, n, first := k.param("from"), k.param("n"), k.param("first")
		k.Label("site")
		count := number(k, field(from, 4))
		o := k.ZMM()
		k.VBROADCASTSD(field(fields, 0), o)
		k.TESTQ(first, first)
		k.JNZ(operand.LabelRef("begun"))
		k.VMOVUPD(field(odds, 0), o)
		k.Label("begun")
		k.SUBL(field(from, 0), count.As32())
		k.JZ(operand.LabelRef("none"))
		k.Label("bond")
		k.VMULPD_BCST(field(bonds, bondFactor), o, levels(k, own, field(bonds, bondTo)), o)
		k.ADDQ(imm(bondSize), bonds)
		k.DECQ(count)
		k.JNZ(operand.LabelRef("bond"))
		k.Label("none")
		k.VMOVUPD(o, field(odds, 0))
		k.ADDQ(imm(4), from)
		k.ADDQ(imm(8), fields)
		k.ADDQ(imm(64), odds)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("site"))
	})
	b.one(16, "forestUp", func(k *kernel) {
		odds, at, links, n := k.param("odds"), k.param("at"), k.param("links"), k.param("n")
		unit := one(k)
		k.Label("site")
		o, t, d := k.ZMM(), k.ZMM(), k.ZMM()
		k.VMOVUPD(field(at, 0), o)
		k.VMULPD_BCST(field(links, linkCouple), o, t)
		k.VADDPD(unit, t, t)
		k.VADDPD(unit, o, d)
		k.VDIVPD(d, t, t)
		place := number(k, field(links, linkPlace))
		k.SHLQ(operand.U8(6), place)
		up := operand.Mem{Base: odds, Index: place, Scale: 1}
		k.VMULPD(up, t, t)
		k.VMOVUPD(t, up)
		k.ADDQ(imm(64), at)
		k.ADDQ(imm(linkSize), links)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("site"))
	})
	// draw stores the mask of the chains whose level is 1 at the site of a link, unless one of the
	// chains of live has a tie: then it jumps to the label done.
	draw := func(k *kernel, own reg.Register, live reg.OpmaskVirtual, link operand.Mem, drawn, tied reg.OpmaskVirtual) {
		k.KTESTB(live, tied)
		k.JNZ(operand.LabelRef("done"))
		k.KMOVB(drawn, operand.Mem{Base: own, Index: number(k, link), Scale: 1})
	}
	chains := func(k *kernel, name string) reg.OpmaskVirtual {
		r := k.K()
		k.KMOVB(k.param(name).As32(), r)
		return r
	}
	b.one(16, "forestDraw", func(k *kernel) {
		own, words, odds, links := k.param("own"), k.param("words"), k.param("odds"), k.param("links")
		live, left, n := chains(k, "live"), k.param("left"), k.GP64()
		unit, scale, lower := one(k), k.ZMM(), k.YMM()
		k.VPBROADCASTQ(k.table("scale", 0, 0x3ef00000), scale)
		k.VPBROADCASTD(k.table("lower", 0xffff), lower)
		k.MOVQ(operand.Mem{Base: left}, n)
		k.Label("pair")
		bits := k.YMM()
		k.VMOVDQU(field(words, 0), bits)
		for half := range 2 {
			v, w, o, s := k.YMM(), k.ZMM(), k.ZMM(), k.ZMM()
			if half == 0 {
				k.VPAND(lower, bits, v)
			} else {
				k.VPSRLD(operand.U8(16), bits, v)
			}
			link := -half * linkSize
			k.VCVTDQ2PD(v, w)
			k.VMOVUPD(field(odds, -64*half), o)
			k.VMULPD_BCST(field(links, link+linkCouple), o, levels(k, own, field(links, link+linkParent)), o)
			k.VADDPD(unit, o, s)
			k.VMULPD(scale, s, s)
			k.VMULPD(s, w, w)
			k.VSUBPD(o, w, w)
			k.VADDPD(s, w, s)
			drawn, tied := k.K(), k.K()
			k.VPMOVQ2M(w, drawn)
			k.VPMOVQ2M(s, tied)
			k.KANDNB(drawn, tied, tied)
			draw(k, own, live, field(links, link+linkSite), drawn, tied)
		}
		k.ADDQ(imm(32), words)
		k.SUBQ(imm(2*64), odds)
		k.SUBQ(imm(2*linkSize), links)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("pair"))
		k.Label("done")
		k.MOVQ(n, operand.Mem{Base: left})
	})
	b.one(16, "drawPendants", func(k *kernel) {
		own, words, pendants := k.param("own"), k.param("words"), k.param("pendants")
		live, left, n := chains(k, "live"), k.param("left"), k.GP64()
		upper := k.YMM()
		k.VPBROADCASTD(k.table("upper", 0xffff0000), upper)
		k.MOVQ(operand.Mem{Base: left}, n)
		k.Label("pair")
		bits := k.YMM()
		k.VMOVDQU(field(words, 0), bits)
		for half := range 2 {
			v, t := k.YMM(), k.YMM()
			if half == 0 {
				k.VPSLLD(operand.U8(16), bits, v)
			} else {
				k.VPAND(upper, bits, v)
			}
			disp := half * pendantSize
			above := levels(k, own, field(pendants, disp+linkParent))
			k.VPBROADCASTD(field(pendants, disp+pendantHigh), t)
			k.VPBROADCASTD(field(pendants, disp+pendantHigh+4), above, t)
			tied, drawn := k.K(), k.K()
			k.VPCMPEQD(t, v, tied)
			k.VPCMPUD(operand.U8(1), t, v, drawn)
			draw(k, own, live, field(pendants, disp+linkSite), drawn, tied)
		}
		k.ADDQ(imm(32), words)
		k.ADDQ(imm(2*pendantSize), pendants)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("pair"))
		k.Label("done")
		k.MOVQ(n, operand.Mem{Base: left})
	})
	b.one(16, "eightColumns", func(k *kernel) {
		dst, src, ld, blocks := k.param("dst"), k.param("src"), k.param("ld"), k.param("blocks")
		third, fourth := k.GP64(), k.GP64()
		k.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, third)
		k.LEAQ(operand.Mem{Base: src, Index: ld, Scale: 4}, fourth)
		k.Label("block")
		// Quarter q of rows[i] is a part of row i + 4·⌊q/2⌋: four columns from 4·(q mod 2) on.
		rows := make([]reg.VecVirtual, 4)
		for i := range rows {
			at := func(base reg.Register) operand.Mem {
				return [4]operand.Mem{{Base: base}, {Base: base, Index: ld, Scale: 1}, {Base: base, Index: ld, Scale: 2}, {Base: base, Index: third, Scale: 1}}[i]
			}
			rows[i] = k.ZMM()
			k.VMOVDQU(at(src), rows[i].AsY())
			k.VINSERTI64X4(operand.U8(1), at(fourth), rows[i], rows[i])
		}
		for i, r := range k.transpose(rows) { // columns i and i + 4 of four rows, and of the other four
			k.VSHUFI64X2(operand.U8(0xD8), r, r, r)
			k.VMOVDQU(r.AsY(), field(dst, 32*i))
			k.VEXTRACTI64X4(operand.U8(1), r, field(dst, 32*(i+4)))
		}
		k.ADDQ(imm(32), src)
		k.ADDQ(imm(32), fourth)
		k.ADDQ(imm(256), dst)
		k.DECQ(blocks)
		k.JNZ(operand.LabelRef("block"))
	})
	b.one(16, "forestMoved", func(k *kernel) {
		moved, old, own, n := k.param("moved"), k.param("old"), k.param("own"), k.param("n")
		var count []reg.GPVirtual
		for c := range 8 {
			count = append(count, k.GP64())
			k.MOVQ(field(moved, 8*c), count[c])
		}
		k.Label("sites")
		d := k.ZMM()
		k.VMOVDQU64(field(old, 0), d)
		k.VPXORQ(field(own, 0), d, d)
		for c := 7; c >= 0; c-- { // the highest bits of the bytes first
			bits, changed := k.GP64(), k.K()
			k.VPMOVB2M(d, changed)
			k.KMOVQ(changed, bits)
			k.POPCNTQ(bits, bits)
			k.ADDQ(bits, count[c])
			if c > 0 {
				k.VPADDB(d, d, d)
			}
		}
		k.ADDQ(imm(64), old)
		k.ADDQ(imm(64), own)
		k.SUBQ(imm(64), n)
		k.JNZ(operand.LabelRef("sites"))
		for c := range 8 {
			k.MOVQ(count[c], field(moved, 8*c))
		}
	})
	b.one(16, "spinEnergies", func(k *kernel) {
		sum, own, bonds, n := k.param("sum"), k.param("own"), k.param("bonds"), k.param("n")
		total := k.ZMM()
		k.VMOVDQU64(field(sum, 0), total)
		k.Label("bond")
		differ, mask := k.GP32(), k.K()
		k.MOVBLZX(operand.Mem{Base: own, Index: number(k, field(bonds, 0)), Scale: 1}, differ)
		k.XORB(operand.Mem{Base: own, Index: number(k, field(bonds, 4)), Scale: 1}, differ.As8())
		k.KMOVB(differ, mask)
		k.VPADDQ_BCST(field(bonds, 8), total, mask, total)
		k.ADDQ(imm(16), bonds)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("bond"))
		k.VMOVDQU64(total, field(sum, 0))
	})
	b.one(16, "spreadForest", func(k *kernel) {
		x, own, n, chains, stride := k.param("x"), k.param("own"), k.param("n"), k.param("chains"), k.param("stride")
		unit := k.u32(1)
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			v, t, to, left, loop := k.ZMM(), k.ZMM(), k.GP64(), k.GP64(), k.label("chain")
			k.VPMOVZXBD(operand.Mem{Base: own, Index: i, Scale: 1}, v)
			k.LEAQ(at(x, i, 0), to)
			k.MOVQ(chains, left)
			k.Label(loop)
			k.VPANDD(unit, v, t)
			k.store(t, operand.Mem{Base: to}, sel)
			k.VPSRLD(operand.U8(1), v, v)
			k.ADDQ(stride, to)
			k.DECQ(left)
			k.JNZ(operand.LabelRef(loop))
		})
	})
}

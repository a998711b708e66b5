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
	b.one(16, "forestDraw", func(k *kernel) {
		own, u, stride, odds, links, n := k.param("own"), k.param("u"), k.param("stride"), k.param("odds"), k.param("links"), k.param("n")
		live, moved := k.param("live"), k.param("moved")
		unit, ones, count := one(k), k.ZMM(), k.ZMM()
		k.VPBROADCASTQ(k.table("count", 1, 0), ones)
		third, fourth := k.GP64(), k.GP64()
		k.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, third)
		k.LEAQ(operand.Mem{Base: u, Index: stride, Scale: 4}, fourth)
		k.VMOVDQU64(field(moved, 0), count)
		k.Label("site")
		o, s := k.ZMM(), k.ZMM()
		k.VMOVUPD(field(odds, 0), o)
		// The numbers of eight chains are put together: a gather takes longer.
		quads := [2]reg.VecVirtual{k.ZMM(), k.ZMM()}
		for q, base := range []reg.Register{u, fourth} {
			low, high := k.XMM(), quads[q].AsX()
			k.VMOVSD(operand.Mem{Base: base}, low)
			k.VMOVHPD(operand.Mem{Base: base, Index: stride, Scale: 1}, low, low)
			k.VMOVSD(operand.Mem{Base: base, Index: stride, Scale: 2}, high)
			k.VMOVHPD(operand.Mem{Base: base, Index: third, Scale: 1}, high, high)
			k.VINSERTF128(operand.U8(1), high, low.AsY(), quads[q].AsY())
		}
		v := k.ZMM()
		k.VINSERTF64X4(operand.U8(1), quads[1].AsY(), quads[0].AsZ(), v)
		k.VMULPD_BCST(field(links, linkCouple), o, levels(k, own, field(links, linkParent)), o)
		k.VADDPD(unit, o, s)
		k.VMULPD(s, v, v)
		k.VSUBPD(o, v, v)
		drawn, changed := k.K(), k.K()
		k.VPMOVQ2M(v, drawn)
		site, level, old := number(k, field(links, linkSite)), k.GP32(), k.GP32()
		to := operand.Mem{Base: own, Index: site, Scale: 1}
		k.KMOVB(drawn, level)
		k.MOVBLZX(to, old)
		k.XORL(old, level)
		k.ANDL(live.As32(), level)
		k.XORL(level, old)
		k.MOVB(old.As8(), to)
		k.KMOVB(level, changed)
		k.VPADDQ(ones, count, changed, count)
		k.ADDQ(imm(8), u)
		k.ADDQ(imm(8), fourth)
		k.SUBQ(imm(64), odds)
		k.SUBQ(imm(linkSize), links)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("site"))
		k.VMOVDQU64(count, field(moved, 0))
	})
	b.one(16, "drawPendants", func(k *kernel) {
		own, words, stride, pendants := k.param("own"), k.param("words"), k.param("stride"), k.param("pendants")
		live, moved, left := k.param("live"), k.param("moved"), k.param("left")
		ones, count, upper := k.ZMM(), k.ZMM(), k.YMM()
		k.VPBROADCASTQ(k.table("count", 1, 0), ones)
		k.VPBROADCASTD(k.table("upper", 0xffff0000), upper)
		third, fourth, n := k.GP64(), k.GP64(), k.GP64()
		k.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, third)
		k.LEAQ(operand.Mem{Base: words, Index: stride, Scale: 4}, fourth)
		k.MOVQ(operand.Mem{Base: left}, n)
		k.VMOVDQU64(field(moved, 0), count)
		k.Label("pair")
		quads := [2]reg.VecVirtual{k.YMM(), k.YMM()}
		for q, base := range []reg.Register{words, fourth} {
			v := quads[q].AsX()
			k.VMOVD(operand.Mem{Base: base}, v)
			k.VPINSRD(operand.U8(1), operand.Mem{Base: base, Index: stride, Scale: 1}, v, v)
			k.VPINSRD(operand.U8(2), operand.Mem{Base: base, Index: stride, Scale: 2}, v, v)
			k.VPINSRD(operand.U8(3), operand.Mem{Base: base, Index: third, Scale: 1}, v, v)
		}
		bits := k.YMM()
		k.VINSERTI128(operand.U8(1), quads[1].AsX(), quads[0].AsY(), bits)
		for half := range 2 {
			v, t := k.YMM(), k.YMM()
			if half == 0 {
				k.VPSLLD(operand.U8(16), bits, v)
			} else {
				k.VPANDD(upper, bits, v)
			}
			disp := half * pendantSize
			above := levels(k, own, field(pendants, disp+linkParent))
			k.VPBROADCASTD(field(pendants, disp+pendantHigh), t)
			k.VPBROADCASTD(field(pendants, disp+pendantHigh+4), above, t)
			tied, drawn, changed := k.K(), k.K(), k.K()
			k.VPCMPEQD(t, v, tied)
			k.KORTESTB(tied, tied)
			k.JNZ(operand.LabelRef("done"))
			k.VPCMPUD(operand.U8(1), t, v, drawn)
			site, level, old := number(k, field(pendants, disp+linkSite)), k.GP32(), k.GP32()
			to := operand.Mem{Base: own, Index: site, Scale: 1}
			k.KMOVB(drawn, level)
			k.MOVBLZX(to, old)
			k.XORL(old, level)
			k.ANDL(live.As32(), level)
			k.XORL(level, old)
			k.MOVB(old.As8(), to)
			k.KMOVB(level, changed)
			k.VPADDQ(ones, count, changed, count)
		}
		k.ADDQ(imm(4), words)
		k.ADDQ(imm(4), fourth)
		k.ADDQ(imm(2*pendantSize), pendants)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("pair"))
		k.Label("done")
		k.MOVQ(n, operand.Mem{Base: left})
		k.VMOVDQU64(count, field(moved, 0))
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

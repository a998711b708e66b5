package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Fields of a ForestLink and of a ForestBond, and their sizes.
const (
	linkSite, linkParent, linkPlace, linkCouple, linkSize = 0, 4, 8, 24, 32
	bondTo, bondFactor, bondSize                          = 4, 16, 24
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
	b.one(16, "forestEnergies", func(k *kernel) {
		sum, own, at, fields := k.param("sum"), k.param("own"), k.param("at"), k.param("field")
		bonds, from, n := k.param("bonds"), k.param("from"), k.param("n")
		total := k.ZMM()
		k.VMOVUPD(field(sum, 0), total)
		k.Label("site")
		v, count, up := k.ZMM(), number(k, field(from, 4)), k.K()
		k.VBROADCASTSD(field(fields, 0), v)
		k.SUBL(field(from, 0), count.As32())
		k.JZ(operand.LabelRef("none"))
		k.Label("bond")
		k.VADDPD_BCST(field(bonds, bondFactor), v, levels(k, own, field(bonds, bondTo)), v)
		k.ADDQ(imm(bondSize), bonds)
		k.DECQ(count)
		k.JNZ(operand.LabelRef("bond"))
		k.Label("none")
		k.KMOVB(field(at, 0), up)
		k.VADDPD(v, total, up, total)
		k.ADDQ(imm(1), at)
		k.ADDQ(imm(4), from)
		k.ADDQ(imm(8), fields)
		k.DECQ(n)
		k.JNZ(operand.LabelRef("site"))
		k.VMOVUPD(total, field(sum, 0))
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

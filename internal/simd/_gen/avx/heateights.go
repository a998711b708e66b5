package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// heatEights writes the kernels of heatRows for groups of eight visits with kept sums.
func heatEights(b *builder) {
	b.one(16, "heatEights", func(k *kernel) { redrawEights(k, false) })
	b.one(16, "heatEightsPhilox", func(k *kernel) { redrawEights(k, true) })
}

const eight = 8

// eights holds the operands of redrawEights. Visits are drawn in pairs, each pair in one register.
// Changes are stored after all eight visits are drawn.
type eights struct {
	*redrawer
	// Function that draws the words of the next eight visits; nil if all words exist already.
	group func()
	drawn operand.Mem   // random words of the current eight visits
	row   reg.GPVirtual // row of the first visit; odds is its table
	// Results of the eight visits, four bytes each: new states, ties, and changes.
	below, equal, change operand.Mem
	before               operand.Mem // value of left before the eight visits
	spill                [2]operand.Mem
}

func redrawEights(k *kernel, philox bool) {
	w := &eights{redrawer: &redrawer{k: k, rows: k.param("rows"), own: k.param("own"), near: k.param("near"),
		visits: k.param("visits"), next: k.param("next"), at: k.param("n"), kept: k.param("kept")}}
	if philox {
		w.drawn = k.AllocLocal(eight * rowBytes)
		w.group = k.philoxGroup(w.drawn)
		w.group()
	} else {
		w.words = k.param("words")
		w.drawn = operand.Mem{Base: w.words}
	}
	for _, m := range []*operand.Mem{&w.below, &w.equal, &w.change} {
		*m = k.AllocLocal(4 * eight)
	}
	for _, m := range []*operand.Mem{&w.before, &w.spill[0], &w.spill[1]} {
		*m = k.AllocLocal(8)
	}
	w.begin()
	valid, high := k.GP64(), k.GP64()
	k.Load(k.Param("valid"), valid.As32())
	k.MOVQ(valid, high)
	k.SHLQ(operand.U8(32), high)
	k.ORQ(high, valid)
	w.valid = k.K()
	k.KMOVQ(valid, w.valid)
	k.Label("eight")
	changed := k.GP64()
	bad := w.draw(changed)
	if philox {
		w.group() // draws the next words while the branches below wait for the results
	}
	k.TESTQ(bad, bad)
	k.JNZ(operand.LabelRef("ties"))
	k.Label("decided")
	w.store(changed)
	n := k.GP64()
	k.MOVL(w.visit(4), n.As32())
	k.ADDL(w.visit(8), n.As32())
	k.SHLQ(operand.U8(5), n)
	k.ADDQ(n, w.near)
	k.ADDQ(imm(eight), w.next)
	k.ADDQ(imm(eight*visitBytes), w.visits)
	if !philox {
		k.ADDQ(imm(eight*rowBytes), w.words)
	}
	k.DECQ(w.at)
	k.JNZ(operand.LabelRef("eight"))
	k.Label("end")
	w.tell()
	done, used := k.GP64(), k.GP64()
	k.Load(k.Param("n"), done)
	k.SUBQ(w.at, done)
	k.Store(done, k.ReturnIndex(0))
	k.Load(k.Param("left"), used)
	k.SUBQ(w.left, used)
	k.Store(used, k.ReturnIndex(1))
	k.VZEROUPPER()
	k.RET()
	w.decideTies(changed)
}

// visit returns the operand of a field of the first visit; at is its offset.
func (w *eights) visit(at int) operand.Mem { return operand.Mem{Base: w.visits, Disp: at} }

// counts returns the operand of the first sums of visit i.
func (w *eights) counts(i int) operand.Mem {
	return operand.Mem{Base: w.kept, Index: w.row, Scale: 1, Disp: rowBytes * i}
}

// draw draws all visits of a group of eight. Bit i of changed is set if visit i changes a chain.
// bad is nonzero if a visit needs more random bits.
func (w *eights) draw(changed reg.GPVirtual) (bad reg.GPVirtual) {
	k := w.k
	site := k.GP64()
	w.row, w.odds = k.GP64(), k.GP64()
	k.MOVLQZX(w.visit(0), site)
	k.MOVLQZX(w.visit(16), w.odds)
	k.ADDQ(k.address("odds"), w.odds)
	var tables [4]reg.VecVirtual
	for i := range tables {
		tables[i] = k.ZMM()
		k.VMOVDQU64(operand.Mem{Base: w.odds, Disp: 64 * i}, tables[i])
	}
	look := func(count reg.VecVirtual, i int) reg.VecVirtual {
		p := k.ZMM()
		k.VMOVDQA64(count, p)
		k.VPERMI2B(tables[2*i+1], tables[2*i], p)
		return p
	}
	second := k.ZMM()
	k.VPBROADCASTQ(operand.Mem{Base: w.next}, second)
	k.MOVQ(site, w.row)
	k.SHLQ(operand.U8(5), w.row)
	bad = k.GP64()
	k.XORL(changed.As32(), changed.As32())
	k.XORL(bad.As32(), bad.As32())
	for i := eight - 2; i >= 0; i -= 2 {
		count, u := k.ZMM(), k.ZMM()
		// Two loads, because the two rows have just been stored separately.
		k.VMOVDQU(w.counts(i), count.AsY())
		k.VINSERTI64X4(operand.U8(1), w.counts(i+1), count, count)
		below, equal, less, again := k.K(), k.K(), k.K(), k.K()
		p, drawn := look(count, 0), w.drawn.Offset(rowBytes*i)
		k.VPCMPEQB(drawn, p, w.valid, equal)
		k.VPCMPUB(operand.U8(6), drawn, p, below) // p > u
		k.VPSHUFB(w.digits(i), second, u)
		p = look(count, 1)
		k.VPCMPEQB(u, p, equal, again)
		k.VPCMPUB(operand.U8(6), u, p, equal, less)
		k.KORQ(less, below, below)
		g, h := k.GP64(), k.GP64()
		k.KMOVQ(again, g)
		k.ORQ(g, bad)
		k.KMOVQ(equal, g)
		k.MOVQ(g, w.equal.Offset(4*i))
		k.MOVQ(g, h)
		k.SHRQ(operand.U8(32), h)
		k.BLSRL(g.As32(), g.As32()) // nonzero if there are several ties
		k.BLSRL(h.As32(), h.As32())
		k.ORQ(g, bad)
		k.ORQ(h, bad)
		k.KMOVQ(below, g)
		k.MOVQ(g, w.below.Offset(4*i))
		k.XORQ(operand.Mem{Base: w.own, Index: site, Scale: 4, Disp: 4 * i}, g)
		k.MOVQ(g, w.change.Offset(4*i))
		k.MOVQ(g, h)
		k.SHRQ(operand.U8(32), h)
		k.NEGL(h.As32()) // sets the carry unless h is 0
		k.ADCL(changed.As32(), changed.As32())
		k.NEGL(g.As32())
		k.ADCL(changed.As32(), changed.As32())
	}
	return bad
}

// digits returns the table that maps each byte of visits i and i+1 to one of eight second bytes.
func (w *eights) digits(i int) operand.Mem {
	var words []uint32
	for half := range 2 {
		for range 8 {
			words = append(words, uint32(i+half)*0x01010101)
		}
	}
	return w.redrawer.k.table([]string{"digits01", "digits23", "digits45", "digits67"}[i/2], words...)
}

// store stores the changes, visit by visit.
func (w *eights) store(changed reg.GPVirtual) {
	k := w.k
	next, loop := k.label("unchanged"), k.label("change")
	i, row, near, plus, minus := k.GP64(), k.GP64(), k.GP64(), k.GP64(), k.GP64()
	k.TESTL(changed.As32(), changed.As32())
	k.JEQ(operand.LabelRef(next))
	k.MOVL(w.visit(4), plus.As32())
	k.MOVL(w.visit(8), minus.As32())
	k.Label(loop)
	k.TZCNTL(changed.As32(), i.As32())
	k.LEAQ(operand.Mem{Base: plus, Index: minus, Scale: 1}, near)
	k.IMULQ(i, near)
	k.LEAQ(operand.Mem{Base: w.near, Index: near, Scale: 4}, near)
	k.MOVLQZX(w.visit(0), row)
	k.ADDQ(i, row)
	p, f := k.GP64(), k.GP64()
	k.LEAQ(w.change, p)
	k.MOVL(operand.Mem{Base: p, Index: i, Scale: 4}, f.As32())
	flips, below, old := k.K(), k.K(), k.K()
	k.KMOVD(f.As32(), flips)
	lane := operand.Mem{Base: w.own, Index: row, Scale: 4}
	k.MOVL(lane, p.As32())
	k.KMOVD(p.As32(), old)
	k.XORL(f.As32(), p.As32())
	k.MOVL(p.As32(), lane)
	k.KXORD(flips, old, below)
	k.SHLQ(operand.U8(5), row)
	wide, now := k.ZMM(), k.YMM()
	k.VPMOVZXBW(operand.Mem{Base: w.kept, Index: row, Scale: 1}, wide)
	k.VPADDW(wide, w.sum[0], below, w.sum[0])
	k.VPSUBW(wide, w.sum[0], old, w.sum[0])
	k.VPADDB(w.ones, w.moved, flips, w.moved)
	k.VMOVDQU8_Z(w.ones, below, now)
	k.VMOVDQU(now, operand.Mem{Base: w.rows, Index: row, Scale: 1})
	by := k.YMM()
	k.VPADDB(now, now, by)
	k.VPSUBB_Z(w.ones, by, flips, by)
	for side, n := range []reg.GPVirtual{plus, minus} {
		left, push, rest := k.GP64(), k.label("push"), k.label("rest")
		k.MOVQ(n, left)
		k.TESTQ(left, left)
		k.JEQ(operand.LabelRef(rest))
		k.Label(push)
		w.pushSome(near, by, side)
		k.ADDQ(imm(16), near)
		k.SUBQ(imm(4), left)
		k.JNE(operand.LabelRef(push))
		k.Label(rest)
	}
	k.BLSRL(changed.As32(), changed.As32())
	k.JNE(operand.LabelRef(loop))
	k.Label(next)
}

// decideTies decides those visits of a group of eight that need more random bits, one after the
// other.
func (w *eights) decideTies(changed reg.GPVirtual) {
	k := w.k
	k.Label("ties")
	for i, r := range []reg.GPVirtual{w.near, w.at} { // frees registers
		k.MOVQ(r, w.spill[i])
	}
	i, p, left := k.GP64(), k.GP64(), k.GP64()
	k.MOVQ(w.left, left)
	k.MOVQ(left, w.before)
	k.LEAQ(w.counts(0), p)
	k.XORL(i.As32(), i.As32())
	k.Label("tie")
	g, mask, m := k.GP64(), k.GP64(), k.GP64()
	k.LEAQ(w.equal, m)
	k.MOVL(operand.Mem{Base: m, Index: i, Scale: 4}, g.As32())
	k.TESTL(g.As32(), g.As32())
	k.JEQ(operand.LabelRef("known"))
	several := k.label("several")
	rest := k.GP32()
	k.BLSRL(g.As32(), rest)
	k.JNE(operand.LabelRef(several))
	c, o := k.GP64(), k.GP64()
	k.TZCNTL(g.As32(), c.As32())
	w.look(w.odds, p, c, o)
	k.SHRQ(operand.U8(48), o)
	k.MOVBLZX(o.As8(), o.As32())
	digits := operand.Mem{Base: w.next, Index: i, Scale: 1}
	k.MOVBLZX(digits, c.As32())
	k.CMPL(c.As32(), o.As32())
	k.JNE(operand.LabelRef("known")) // the next digits have already decided it
	k.Label(several)
	k.LEAQ(w.below, m)
	// Clears the tied chains, which are decided again.
	k.ANDNL(operand.Mem{Base: m, Index: i, Scale: 4}, g.As32(), mask.As32())
	w.tie(w.odds, p, g.As32().(reg.GPVirtual), mask.As32().(reg.GPVirtual), digits, "short")
	k.LEAQ(w.below, m)
	k.MOVL(mask.As32(), operand.Mem{Base: m, Index: i, Scale: 4})
	k.Label("known")
	k.ADDQ(imm(rowBytes), p)
	k.INCQ(i)
	k.CMPQ(i, imm(eight))
	k.JNE(operand.LabelRef("tie"))
	restore := func() {
		k.Load(k.Param("rows"), w.rows)
		k.Load(k.Param("own"), w.own)
		k.Load(k.Param("kept"), w.kept)
		for i, r := range []reg.GPVirtual{w.near, w.at} {
			k.MOVQ(w.spill[i], r)
		}
	}
	restore()
	// Compute the changed sites again.
	site := k.GP64()
	k.MOVLQZX(w.visit(0), site)
	k.XORL(changed.As32(), changed.As32())
	for i := eight - 1; i >= 0; i-- {
		f := k.GP32()
		k.MOVL(w.below.Offset(4*i), f)
		k.XORL(operand.Mem{Base: w.own, Index: site, Scale: 4, Disp: 4 * i}, f)
		k.MOVL(f, w.change.Offset(4*i))
		k.NEGL(f)
		k.ADCL(changed.As32(), changed.As32())
	}
	k.JMP(operand.LabelRef("decided"))
	k.Label("short")
	restore()
	k.MOVQ(w.before, left)
	k.MOVQ(left, w.left)
	k.JMP(operand.LabelRef("end"))
}

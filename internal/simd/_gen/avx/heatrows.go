package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// heatRows writes the kernels for sites with up to 32 chains, one byte per chain.
func heatRows(b *builder) {
	b.each("heatRows", func(k *kernel) { redrawRows(k, false) })
	b.each("heatRowsKept", func(k *kernel) { redrawRows(k, true) })
	b.each("sumRows", sumRows)
}

// Sizes in bytes of a row and of a visit, which redrawRows steps through.
const (
	rowBytes   = 32
	visitBytes = 32
)

// redrawer holds the registers and memory operands of a visit. Data needed only for ties are in
// memory.
type redrawer struct {
	k                     *kernel
	rows, own, odds, near reg.GPVirtual
	// At is the offset in bytes from the end of visits and of words.
	visits, words, next, at reg.GPVirtual
	valid                   reg.OpmaskVirtual // mask of valid chains, with AVX-512
	ones                    reg.VecVirtual
	moved                   reg.VecVirtual   // number of changed sites, one byte per chain
	sum                     []reg.VecVirtual // change of the sums, 16 bits per chain
	counts, ties, left      operand.Mem
	// Address of the kept sums; nil if sums are computed at every visit.
	kept reg.GPVirtual
}

func redrawRows(k *kernel, keep bool) {
	w := &redrawer{k: k, rows: k.param("rows"), own: k.param("own"), odds: k.param("odds"), near: k.param("near"),
		visits: k.param("visits"), words: k.param("words"), next: k.param("next"), at: k.param("n")}
	if keep {
		w.kept = k.param("kept")
	}
	w.counts = k.AllocLocal(rowBytes)
	w.begin()
	if k.wide() {
		w.valid = k.K()
		v := k.GP32()
		k.Load(k.Param("valid"), v)
		k.KMOVD(v, w.valid)
	}
	k.SHLQ(operand.U8(5), w.at)
	k.ADDQ(w.at, w.visits)
	k.ADDQ(w.at, w.words)
	k.NEGQ(w.at)
	k.Label("visit")
	site, table := k.GP64(), k.GP64()
	var count reg.VecVirtual
	if keep {
		at := k.GP64()
		k.MOVLQZX(w.field(0), site)
		k.MOVQ(site, at)
		k.SHLQ(operand.U8(5), at)
		count = k.YMM()
		k.VMOVDQU(operand.Mem{Base: w.kept, Index: at, Scale: 1}, count)
	} else {
		count = w.count()
		k.MOVLQZX(w.field(0), site)
	}
	k.MOVLQZX(w.field(16), table)
	k.ADDQ(w.odds, table)
	var tie func()
	if k.wide() {
		tie = w.decideWide(count, site, table)
	} else {
		tie = w.decide(count, site, table)
	}
	k.INCQ(w.next)
	k.ADDQ(imm(visitBytes), w.at)
	k.JNZ(operand.LabelRef("visit"))
	k.Label("end")
	w.tell()
	used := k.GP64()
	k.SARQ(operand.U8(5), w.at)
	k.ADDQ(k.address("n"), w.at)
	k.Store(w.at, k.ReturnIndex(0))
	k.Load(k.Param("left"), used)
	k.SUBQ(w.left, used)
	k.Store(used, k.ReturnIndex(1))
	k.VZEROUPPER()
	k.RET()
	tie()
	k.Load(k.Param("rows"), w.rows) // the code for ties uses these registers
	k.Load(k.Param("own"), w.own)
	k.Load(k.Param("odds"), w.odds)
	if keep {
		k.Load(k.Param("kept"), w.kept)
	}
	k.JMP(operand.LabelRef("decided"))
}

// begin initialises the data for ties and the counters.
func (w *redrawer) begin() {
	k := w.k
	w.ties, w.left = k.AllocLocal(8), k.AllocLocal(8)
	k.MOVQ(k.param("ties"), w.ties)
	k.MOVQ(k.param("left"), w.left)
	w.ones, w.moved = k.YMM(), k.YMM()
	k.VMOVDQU(k.table("ones", 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x01010101), w.ones)
	k.VPXOR(w.moved, w.moved, w.moved)
	for range 16 / k.w {
		s := k.vec()
		k.clear(s)
		w.sum = append(w.sum, s)
	}
}

// field returns the operand of a field of the current visit; at is its offset.
func (w *redrawer) field(at int) operand.Mem {
	return operand.Mem{Base: w.visits, Index: w.at, Scale: 1, Disp: at}
}

// drawn returns the operand of the random bytes of the current visit.
func (w *redrawer) drawn() operand.Mem { return operand.Mem{Base: w.words, Index: w.at, Scale: 1} }

// count returns the sum over the neighbours of a site, one byte per chain.
func (w *redrawer) count() reg.VecVirtual {
	k := w.k
	var acc [4]reg.VecVirtual
	for j := range acc {
		acc[j] = k.YMM()
		if j == 0 {
			k.VPBROADCASTB(w.field(12), acc[j])
		} else {
			k.VPXOR(acc[j], acc[j], acc[j])
		}
	}
	for side, op := range []func(...operand.Op){k.VPADDB, k.VPSUBB} {
		some := func(n int) {
			for at := 0; at < n; at += 2 {
				a, b := k.GP64(), k.GP64()
				k.MOVQ(operand.Mem{Base: w.near, Disp: 4 * at}, b)
				k.MOVL(b.As32(), a.As32())
				k.SHRQ(operand.U8(32), b)
				op(operand.Mem{Base: w.rows, Index: a, Scale: 1}, acc[at%4], acc[at%4])
				op(operand.Mem{Base: w.rows, Index: b, Scale: 1}, acc[at%4+1], acc[at%4+1])
			}
			k.ADDQ(imm(4*n), w.near)
		}
		loop, rest, done := k.label("near"), k.label("rest"), k.label("counted")
		n := k.GP32()
		k.MOVL(w.field(4+4*side), n)
		k.SUBL(imm(8), n)
		k.JL(operand.LabelRef(rest))
		k.Label(loop)
		some(8)
		k.SUBL(imm(8), n)
		k.JGE(operand.LabelRef(loop))
		k.Label(rest)
		k.TESTL(imm(4), n)
		k.JZ(operand.LabelRef(done))
		some(4)
		k.Label(done)
	}
	k.VPADDB(acc[1], acc[0], acc[0])
	k.VPADDB(acc[3], acc[2], acc[2])
	k.VPADDB(acc[2], acc[0], acc[0])
	return acc[0]
}

// decideWide draws and stores a site, with AVX-512. It returns a function that writes the code
// executed if there is a tie.
func (w *redrawer) decideWide(count reg.VecVirtual, site, table reg.GPVirtual) (tie func()) {
	k := w.k
	look := func(at int) reg.VecVirtual {
		p := k.ZMM()
		k.VMOVDQU64(operand.Mem{Base: table, Disp: at}, p)
		k.VPERMT2B(operand.Mem{Base: table, Disp: at + 64}, count.AsZ(), p)
		return p.AsY().(reg.VecVirtual)
	}
	ones, equal, less, again := k.K(), k.K(), k.K(), k.K()
	u, p := k.YMM(), look(0)
	k.VPCMPEQB(w.drawn(), p, w.valid, equal)
	k.VPCMPUB(operand.U8(6), w.drawn(), p, ones) // p > u
	k.VPBROADCASTB(operand.Mem{Base: w.next}, u)
	p = look(128)
	k.VPCMPEQB(u, p, equal, again)
	k.VPCMPUB(operand.U8(6), u, p, equal, less)
	g, rest := k.GP32(), k.GP32()
	k.KMOVD(equal, g)
	k.BLSRL(g, rest)
	k.JNE(operand.LabelRef("tie"))
	k.KORTESTD(again, again)
	k.JNE(operand.LabelRef("tie"))
	k.KORD(less, ones, ones)
	k.Label("decided")
	old := k.K()
	lane := operand.Mem{Base: w.own, Index: site, Scale: 4}
	k.KMOVD(lane, old)
	k.KMOVD(ones, lane)
	wide, now := k.ZMM(), k.YMM()
	k.VPMOVZXBW(count, wide)
	k.VPADDW(wide, w.sum[0], ones, w.sum[0])
	k.VPSUBW(wide, w.sum[0], old, w.sum[0])
	k.KXORD(old, ones, old)
	k.VPADDB(w.ones, w.moved, old, w.moved)
	k.SHLQ(operand.U8(5), site)
	k.VMOVDQU8_Z(w.ones, ones, now)
	k.VMOVDQU(now, operand.Mem{Base: w.rows, Index: site, Scale: 1})
	if w.kept != nil {
		w.push(func(same string) (by reg.VecVirtual) {
			k.KORTESTD(old, old)
			k.JEQ(operand.LabelRef(same))
			by = k.YMM()
			k.VPADDB(now, now, by)
			k.VPSUBB_Z(w.ones, by, old, by)
			return by
		})
	}
	return func() {
		k.Label("tie")
		mask := k.GP32()
		k.KMOVD(ones, mask)
		k.VMOVDQU(count, w.counts)
		w.tie(table, w.stored(), g, mask, operand.Mem{Base: w.next}, "end")
		k.KMOVD(mask, ones)
	}
}

// address returns the operand of a parameter in memory.
func (k *kernel) address(name string) operand.Mem {
	p, err := k.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// decide does the same as decideWide without mask registers, for AVX2.
func (w *redrawer) decide(count reg.VecVirtual, site, table reg.GPVirtual) (tie func()) {
	k := w.k
	bytes := func(name string, v uint32) operand.Mem {
		return k.table(name, v, v, v, v, v, v, v, v)
	}
	// Look up sixteen entries of the table at a time. For all other entries the highest bit of the
	// index is set, so the result is 0.
	p, idx := k.YMM(), k.YMM()
	k.VMOVDQA(count, idx)
	for piece := range 8 {
		part, at := k.YMM(), k.YMM()
		k.VBROADCASTI128(operand.Mem{Base: table, Disp: 16 * piece}, part)
		k.VPADDUSB(bytes("sixteenth", 0x70707070), idx, at)
		k.VPSHUFB(at, part, part)
		if piece == 0 {
			k.VMOVDQA(part, p)
		} else {
			k.VPOR(part, p, p)
		}
		if piece < 7 {
			k.VPSUBB(bytes("sixteen", 0x10101010), idx, idx)
		}
	}
	u, not, equal := k.YMM(), k.YMM(), k.YMM()
	k.VMOVDQU(w.drawn(), u)
	k.VPMAXUB(p, u, not)
	k.VPCMPEQB(u, not, not) // u ≥ p
	k.VPCMPEQB(u, p, equal)
	g, mask := k.GP32(), k.GP32()
	k.VPMOVMSKB(not, mask)
	k.NOTL(mask)
	k.VPMOVMSKB(equal, g)
	now := k.YMM()
	k.VPANDN(w.ones, not, now)
	k.ANDL(k.address("valid"), g)
	k.JNZ(operand.LabelRef("tie"))
	k.Label("decided")
	k.MOVL(mask, operand.Mem{Base: w.own, Index: site, Scale: 4})
	k.SHLQ(operand.U8(5), site)
	m := operand.Mem{Base: w.rows, Index: site, Scale: 1}
	by, t := k.YMM(), k.YMM()
	k.VPSUBB(m, now, by)
	k.VMOVDQU(now, m)
	k.VPABSB(by, t)
	k.VPADDB(t, w.moved, w.moved)
	k.VPSIGNB(by, count, t)
	for half, s := range w.sum {
		x, v := t.AsX(), k.YMM()
		if half == 1 {
			x = k.XMM()
			k.VEXTRACTI128(operand.U8(1), t, x)
		}
		k.VPMOVSXBW(x, v)
		k.VPADDW(v, s, s)
	}
	if w.kept != nil {
		w.push(func(same string) reg.VecVirtual {
			k.VPTEST(by, by)
			k.JEQ(operand.LabelRef(same))
			return by
		})
	}
	return func() {
		k.Label("tie")
		k.VMOVDQU(count, w.counts)
		rest := k.GP32()
		k.BLSRL(g, rest)
		k.JNZ(operand.LabelRef("ties"))
		c, high, second := k.GP64(), k.GP64(), k.GP32()
		k.TZCNTL(g, c.As32())
		w.look(table, w.stored(), c, high)
		k.SHRQ(operand.U8(48), high)
		k.MOVBLZX(high.As8(), high.As32())
		k.MOVBLZX(operand.Mem{Base: w.next}, second)
		k.CMPL(second, high.As32())
		k.JEQ(operand.LabelRef("ties"))
		k.SBBL(high.As32(), high.As32())
		k.ANDL(g, high.As32())
		k.ORL(high.As32(), mask)
		k.JMP(operand.LabelRef("known"))
		k.Label("ties")
		w.tie(table, w.stored(), g, mask, operand.Mem{Base: w.next}, "end")
		k.Label("known")
		x, d := k.XMM(), k.YMM()
		k.VMOVD(mask, x)
		k.VPBROADCASTD(x, now)
		k.VPSHUFB(k.table("order", 0, 0, 0x01010101, 0x01010101, 0x02020202, 0x02020202, 0x03030303, 0x03030303), now, now)
		k.VMOVDQU(k.table("digits", 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010), d)
		k.VPAND(d, now, now)
		k.VPCMPEQB(d, now, now)
		k.VPAND(w.ones, now, now)
	}
}

// tell adds the numbers of changed sites and the sums to the tally.
func (w *redrawer) tell() {
	k := w.k
	t := k.param("t")
	add := func(v reg.VecVirtual, disp int) {
		m := operand.Mem{Base: t, Disp: disp}
		if k.wide() {
			k.VPADDD(m, v, v)
			k.VMOVDQU32(v, m)
		} else {
			k.VPADDD(m, v, v)
			k.VMOVDQU(v, m)
		}
	}
	for part := 0; part < 32; part += k.w {
		v := k.vec()
		k.VPMOVZXBD(k.bytes(w.moved, part), v)
		add(v, 4*part)
		v = k.vec()
		if k.wide() {
			h := w.sum[0].AsY()
			if part > 0 {
				h = k.YMM()
				k.VEXTRACTI64X4(operand.U8(1), w.sum[0], h)
			}
			k.VPMOVSXWD(h, v)
		} else {
			x := w.sum[part/16].AsX()
			if part%16 > 0 {
				x = k.XMM()
				k.VEXTRACTI128(operand.U8(1), w.sum[part/16], x)
			}
			k.VPMOVSXWD(x, v)
		}
		add(v, 128+4*part)
	}
}

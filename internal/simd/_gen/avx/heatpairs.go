package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// heatPairs writes the kernel for two blocks of chains stored side by side.
func heatPairs(b *builder) {
	b.one(16, "heatPairs", redrawPairs)
}

// Offsets of the fields of pairStop in package simd.
const (
	pairBelow = 0
	pairEqual = 8
	pairSums  = 64
)

// pairQuads is the number of groups of four neighbours that can be counted in four bits.
const pairQuads = 3

// pairer holds the registers for visits of two blocks.
type pairer struct {
	k                      *kernel
	rows, near, visits, at reg.GPVirtual
	low                    reg.VecVirtual    // mask of the lower half of every byte
	moved                  reg.VecVirtual    // number of changed sites, one byte per chain
	sum                    [2]reg.VecVirtual // change of the sums of each block, 16 bits per chain
}

func redrawPairs(k *kernel) {
	w := &pairer{k: k, rows: k.param("rows"), near: k.param("near"), visits: k.param("visits"), at: k.param("n"),
		low: k.YMM(), moved: k.ZMM(), sum: [2]reg.VecVirtual{k.ZMM(), k.ZMM()}}
	own, odds := k.param("own"), k.param("odds")
	words := [2]reg.GPVirtual{k.param("words0"), k.param("words1")}
	next := [2]reg.GPVirtual{k.param("next0"), k.param("next1")}
	valid, high := k.K(), k.K()
	v := k.GP64()
	k.Load(k.Param("valid"), v)
	k.KMOVQ(v, valid)
	k.MOVQ(operand.I32(-1), v)
	k.SHLQ(operand.U8(32), v)
	k.KMOVQ(v, high)
	ones, sixteen := k.ZMM(), k.YMM()
	k.VPBROADCASTD(k.table("ones", 0x01010101), ones)
	k.VPBROADCASTD(k.table("sixteen", 0x10101010), sixteen)
	k.VPBROADCASTD(k.table("low", 0x0f0f0f0f), w.low)
	for _, v := range []reg.VecVirtual{w.moved, w.sum[0], w.sum[1]} {
		k.clear(v)
	}
	k.SHLQ(operand.U8(5), w.at)
	for _, p := range []reg.GPVirtual{w.visits, words[0], words[1]} {
		k.ADDQ(w.at, p)
	}
	k.NEGQ(w.at)
	count, below, stop := k.ZMM(), k.K(), k.GP64()
	k.Load(k.Param("decided"), stop)
	k.TESTQ(stop, stop)
	k.JEQ(operand.LabelRef("visit"))
	k.Load(k.Param("stop"), stop)
	k.KMOVQ(operand.Mem{Base: stop, Disp: pairBelow}, below)
	k.VMOVDQU64(operand.Mem{Base: stop, Disp: pairSums}, count)
	k.JMP(operand.LabelRef("decided"))
	k.Label("visit")
	k.VMOVDQA64(w.count(), count)
	table := k.GP64()
	k.MOVLQZX(w.field(16), table)
	k.ADDQ(odds, table)
	look := func(n int) reg.VecVirtual {
		p := k.ZMM()
		k.VMOVDQU64(operand.Mem{Base: table, Disp: n}, p)
		k.VPERMT2B(operand.Mem{Base: table, Disp: n + 64}, count, p)
		return p
	}
	drawn, digits := k.ZMM(), k.ZMM()
	k.VMOVDQU(operand.Mem{Base: words[0], Index: w.at, Scale: 1}, drawn.AsY())
	k.VINSERTI64X4(operand.U8(1), operand.Mem{Base: words[1], Index: w.at, Scale: 1}, drawn, drawn)
	equal, less, again := k.K(), k.K(), k.K()
	p := look(0)
	k.VPCMPEQB(drawn, p, valid, equal)
	k.VPCMPUB(operand.U8(6), drawn, p, below)
	k.VPBROADCASTB(operand.Mem{Base: next[0]}, digits)
	k.VPBROADCASTB(operand.Mem{Base: next[1]}, high, digits)
	p = look(128)
	k.VPCMPEQB(digits, p, equal, again)
	k.VPCMPUB(operand.U8(6), digits, p, equal, less)
	k.KORQ(less, below, below)
	g, h, bad := k.GP64(), k.GP64(), k.GP64()
	k.KMOVQ(again, bad)
	k.KMOVQ(equal, g)
	k.MOVQ(g, h)
	k.SHRQ(operand.U8(32), h)
	k.BLSRL(g.As32(), g.As32())
	k.BLSRL(h.As32(), h.As32())
	k.ORQ(g, bad)
	k.ORQ(h, bad)
	k.JNZ(operand.LabelRef("bad"))
	k.Label("decided")
	site := k.GP64()
	k.MOVLQZX(w.field(0), site)
	lane, old, flips := operand.Mem{Base: own, Index: site, Scale: 8}, k.K(), k.K()
	k.KMOVQ(lane, old)
	k.KMOVQ(below, lane)
	k.KXORQ(below, old, flips)
	k.VPADDB(ones, w.moved, flips, w.moved)
	k.SHLQ(operand.U8(5), site)
	now, half := k.YMM(), count.AsY()
	k.VMOVDQU8_Z(ones.AsY(), below, now)
	for b := range w.sum {
		if b == 1 {
			half = k.YMM()
			k.VEXTRACTI64X4(operand.U8(1), count, half)
			k.KSHIFTRQ(operand.U8(32), below, below)
			k.KSHIFTRQ(operand.U8(32), old, old)
		}
		wide := k.ZMM()
		k.VPMOVZXBW(half, wide)
		k.VPADDW(wide, w.sum[b], below, w.sum[b])
		k.VPSUBW(wide, w.sum[b], old, w.sum[b])
	}
	k.VPADDB(sixteen, now, below, now)
	k.VMOVDQU(now, operand.Mem{Base: w.rows, Index: site, Scale: 1})
	k.INCQ(next[0])
	k.INCQ(next[1])
	k.ADDQ(imm(visitBytes), w.at)
	k.JNZ(operand.LabelRef("visit"))
	done := k.label("done")
	k.JMP(operand.LabelRef(done))
	k.Label("bad")
	k.Load(k.Param("stop"), stop)
	k.KMOVQ(below, operand.Mem{Base: stop, Disp: pairBelow})
	k.KMOVQ(equal, operand.Mem{Base: stop, Disp: pairEqual})
	k.VMOVDQU64(count, operand.Mem{Base: stop, Disp: pairSums})
	k.Label(done)
	w.tell()
	k.SARQ(operand.U8(5), w.at)
	k.ADDQ(k.address("n"), w.at)
	k.Store(w.at, k.ReturnIndex(0))
	k.SUBQ(k.address("near"), w.near)
	k.SHRQ(operand.U8(2), w.near)
	k.Store(w.near, k.ReturnIndex(1))
}

// field returns the operand of a field of the current visit; at is its offset.
func (w *pairer) field(at int) operand.Mem {
	return operand.Mem{Base: w.visits, Index: w.at, Scale: 1, Disp: at}
}

// count returns the sums over the neighbours of a site for both blocks, one byte per chain. It
// counts in half bytes as long as half bytes suffice, and then in bytes.
func (w *pairer) count() reg.VecVirtual {
	k := w.k
	sum := [2]reg.VecVirtual{k.YMM(), k.YMM()}
	for _, s := range sum {
		k.VPBROADCASTB(w.field(12), s)
	}
	var acc [4]reg.VecVirtual
	for side, op := range []func(...operand.Op){k.VPADDB, k.VPSUBB} {
		quad := func(first bool) {
			for at := 0; at < 4; at += 2 {
				a, b := k.GP64(), k.GP64()
				k.MOVQ(operand.Mem{Base: w.near}, b)
				k.MOVL(b.As32(), a.As32())
				k.SHRQ(operand.U8(32), b)
				for i, index := range []reg.GPVirtual{a, b} {
					m := operand.Mem{Base: w.rows, Index: index, Scale: 1}
					if first {
						k.VMOVDQU(m, acc[at+i])
					} else {
						k.VPADDB(m, acc[at+i], acc[at+i])
					}
				}
				k.ADDQ(imm(8), w.near)
			}
		}
		split := func() {
			k.VPADDB(acc[1], acc[0], acc[0])
			k.VPADDB(acc[3], acc[2], acc[2])
			k.VPADDB(acc[2], acc[0], acc[0])
			half := k.YMM()
			k.VPSRLW(operand.U8(4), acc[0], half)
			k.VPAND(w.low, acc[0], acc[0])
			k.VPAND(w.low, half, half)
			op(acc[0], sum[0], sum[0])
			op(half, sum[1], sum[1])
		}
		for i := range acc {
			acc[i] = k.YMM()
		}
		loop, rest, done := k.label("near"), k.label("rest"), k.label("counted")
		n := k.GP32()
		k.MOVL(w.field(4+4*side), n)
		k.SUBL(imm(4*pairQuads), n)
		k.JL(operand.LabelRef(rest))
		k.Label(loop)
		for i := range pairQuads {
			quad(i == 0)
		}
		split()
		k.SUBL(imm(4*pairQuads), n)
		k.JGE(operand.LabelRef(loop))
		k.Label(rest)
		// 4, 0 or −4 if two, one or no group of four neighbours is left.
		k.ADDL(imm(4*(pairQuads-1)), n)
		k.JS(operand.LabelRef(done))
		quad(true)
		k.TESTL(n, n)
		last := k.label("last")
		k.JZ(operand.LabelRef(last))
		quad(false)
		k.Label(last)
		split()
		k.Label(done)
	}
	count := sum[0].AsZ().(reg.VecVirtual)
	k.VINSERTI64X4(operand.U8(1), sum[1], count, count)
	return count
}

// tell adds the numbers of changed sites and the sums to the tallies.
func (w *pairer) tell() {
	k := w.k
	t := k.param("t")
	add := func(v reg.VecVirtual, disp int) {
		m := operand.Mem{Base: t, Disp: disp}
		k.VPADDD(m, v, v)
		k.VMOVDQU32(v, m)
	}
	for part := range 4 {
		x, v := k.XMM(), k.ZMM()
		k.VEXTRACTI32X4(operand.U8(part), w.moved, x)
		k.VPMOVZXBD(x, v)
		add(v, 256*(part/2)+64*(part%2))
		y, v := k.YMM(), k.ZMM()
		k.VEXTRACTI64X4(operand.U8(part%2), w.sum[part/2], y)
		k.VPMOVSXWD(y, v)
		add(v, 256*(part/2)+128+64*(part%2))
	}
}

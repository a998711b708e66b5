package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// flipTally writes what counts the sites that flip.
func flipTally(b *builder) {
	for _, w := range []int{8, 16} {
		b.one(w, "tallyFlips", "func(own, flip, valid *uint64, count *[3][512]uint64, regs int, sums *[5][2]uint64)",
			"stores parts of the sums of refTallyFlips on regs ≥ 1 times 512 sites, 16 bits each; AVX-512 needs VPOPCNTDQ.", tallyFlips)
	}
}

// sets are the sites of a term that are counted: all, in state 1, flipping, both.
const sets = 4

// tallyFlips adds up the bits of the products of terms and sets.
func tallyFlips(k *kernel) {
	own, flip, valid, count := k.param("own"), k.param("flip"), k.param("valid"), k.param("count")
	regs, sums := k.param("regs"), k.param("sums")
	t := newFlipCounter(k)
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	at := func(p reg.Register, disp int) operand.Mem {
		return operand.Mem{Base: p, Index: i, Scale: 1, Disp: disp}
	}
	all, x, f, both := k.vec(), k.vec(), k.vec(), k.vec()
	k.VMOVUPS(at(valid, 0), all)
	k.meet(at(own, 0), all, x)
	k.meet(at(flip, 0), all, f)
	k.meet(x, f, both)
	set := [sets]reg.VecVirtual{all, x, f, both}
	for j := range t.sum {
		var term reg.VecVirtual
		if j > 0 {
			term = k.vec()
			k.VMOVUPS(at(count, [5]int{0, 0, plane, 0, 2 * plane}[j]), term)
			if j == 3 {
				k.meet(at(count, plane), term, term)
			}
		}
		t.count(j, term, set)
	}
	k.ADDQ(imm(4*k.w), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
	for j := range t.sum {
		v := t.packed(j)
		if k.wide() {
			high := k.YMM()
			k.VEXTRACTI64X4(operand.U8(1), v, high)
			k.VPADDQ(v.AsY(), high, high)
			v = high
		}
		high := k.XMM()
		k.VEXTRACTI128(operand.U8(1), v.AsY(), high)
		k.VPADDQ(v.AsX(), high, high)
		k.VMOVDQU(high, operand.Mem{Base: sums, Disp: 16 * j})
	}
}

// meet stores the bits that are set in both.
func (k *kernel) meet(a operand.Op, b, c reg.VecVirtual) {
	if k.wide() {
		k.VPANDQ(a, b, c)
	} else {
		k.VPAND(a, b, c)
	}
}

// flipCounter counts bits of words. With AVX-512 each sum has a register; AVX2 has
// none to spare and adds up the sums of a term in parts of 16 bits.
type flipCounter struct {
	*kernel
	sum                  [5][]reg.VecVirtual
	low, nibble, nothing reg.VecVirtual // of AVX2: masks, bits of four bits, zero
}

func newFlipCounter(k *kernel) *flipCounter {
	t := &flipCounter{kernel: k}
	for j := range t.sum {
		n := 1
		if k.wide() {
			n = sets
		}
		for range n {
			r := k.vec()
			k.clear(r)
			t.sum[j] = append(t.sum[j], r)
		}
	}
	if !k.wide() {
		t.low, t.nibble, t.nothing = k.vec(), k.vec(), k.vec()
		k.VMOVDQU(k.table("low", 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f), t.low)
		k.VMOVDQU(k.table("nibble", 0x02010100, 0x03020201, 0x03020201, 0x04030302, 0x02010100, 0x03020201, 0x03020201, 0x04030302), t.nibble)
		k.clear(t.nothing)
	}
	return t
}

// count adds the products of a term, if it is not 1, and the sets.
func (t *flipCounter) count(j int, term reg.VecVirtual, set [sets]reg.VecVirtual) {
	for s, v := range set {
		x := t.vec()
		if term == nil {
			t.vmov(v, x)
		} else {
			t.meet(v, term, x)
		}
		if t.wide() {
			t.VPOPCNTQ(x, x)
			t.VPADDQ(x, t.sum[j][s], t.sum[j][s])
			continue
		}
		n := t.byteBits(x, t.low, t.nibble)
		t.VPSADBW(t.nothing, n, n)
		if s > 0 {
			t.VPSLLQ(operand.U8(16*s), n, n)
		}
		t.VPADDQ(n, t.sum[j][0], t.sum[j][0])
	}
}

// packed returns the sums of a term, 16 bits each.
func (t *flipCounter) packed(j int) reg.VecVirtual {
	r := t.sum[j][0]
	for s, v := range t.sum[j][1:] {
		t.VPSLLQ(operand.U8(16*(s+1)), v, v)
		t.VPADDQ(v, r, r)
	}
	return r
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// flipTally writes the kernels that count sites that flip.
func flipTally(b *builder) {
	for _, w := range []int{8, 16} {
		b.one(w, "tallyFlips", tallyFlips)
	}
}

// sets is the number of sets of sites that are counted: all, in state 1, flipping, and both.
const sets = 4

// tallyFlips counts the bits of the products of terms and sets. It has a loop for each direction,
// because the sums of both do not fit into the registers.
func tallyFlips(k *kernel) {
	from, to, valid := k.param("from"), k.param("to"), k.param("valid")
	before, after := k.param("before"), k.param("after")
	regs, sums := k.param("regs"), k.param("sums")
	k.SHLQ(operand.U8(6), regs)
	t := newFlipCounter(k)
	t.way(from, to, valid, before, regs, sums, "forth", 2)
	k.ADDQ(imm(5*16), sums)
	t.way(to, from, valid, after, regs, sums, "back", 0)
}

// way counts the flips in one direction, from the sites x to y, and stores the sums. It omits the
// sets before first.
func (t *flipCounter) way(x, y, valid, near, bytes, sums reg.GPVirtual, label string, first int) {
	k := t.k
	t.begin(first)
	i := k.GP64()
	k.XORQ(i, i)
	k.Label(label)
	for half := 0; half < 64; half += 4 * k.w {
		at := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 1, Disp: half} }
		digit := func(p int) operand.Mem { return operand.Mem{Base: near, Disp: 64*p + half} }
		all, on, flip, both := k.vec(), k.vec(), k.vec(), k.vec()
		k.VMOVUPS(at(valid), all)
		k.VMOVUPS(at(x), on)
		k.differ(at(y), on, flip)
		k.meet(all, on, on)
		k.meet(all, flip, flip)
		k.meet(on, flip, both)
		set := [sets]reg.VecVirtual{all, on, flip, both}
		for j := range t.sum {
			var term reg.VecVirtual
			if j > 0 {
				term = k.vec()
				k.VMOVUPS(digit([5]int{0, 0, 1, 0, 2}[j]), term)
				if j == 3 {
					k.meet(digit(1), term, term)
				}
			}
			t.count(j, term, set)
		}
	}
	k.ADDQ(imm(64*3), near)
	k.ADDQ(imm(64), i)
	k.CMPQ(i, bytes)
	k.JL(operand.LabelRef(label))
	for j := range t.sum {
		v := t.packed(j)
		if k.wide() {
			high := k.YMM()
			k.VEXTRACTI64X4(operand.U8(1), v, high)
			k.VPADDQ(v.AsY(), high, high)
			v = high
		}
		high := k.XMM()
		k.upper(v.AsY(), high)
		k.VPADDQ(v.AsX(), high, high)
		k.VMOVUPS(high, operand.Mem{Base: sums, Disp: 16 * j})
	}
}

// differ stores a xor b in c.
func (k *kernel) differ(a operand.Op, b, c reg.VecVirtual) {
	if k.wide() {
		k.VPXORQ(a, b, c)
	} else {
		k.VPXOR(a, b, c)
	}
}

// meet stores a and b, bit by bit, in c.
func (k *kernel) meet(a operand.Op, b, c reg.VecVirtual) {
	if k.wide() {
		k.VPANDQ(a, b, c)
	} else {
		k.VPAND(a, b, c)
	}
}

// flipCounter counts bits of words. With AVX-512 each sum has its own register. AVX2 has too few
// registers, so the sums of a term share one, in parts of 16 bits.
type flipCounter struct {
	k     *kernel
	first int // first of the sets that are counted
	sum   [5][]reg.VecVirtual
	// For AVX2: mask of the low four bits, bit counts of four bits, zero.
	low, nibble, nothing reg.VecVirtual
}

func newFlipCounter(k *kernel) *flipCounter {
	t := &flipCounter{k: k}
	for j := range t.sum {
		n := 1
		if k.wide() {
			n = sets
		}
		for range n {
			t.sum[j] = append(t.sum[j], k.vec())
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

// begin sets the sums of the sets from first on to 0.
func (t *flipCounter) begin(first int) {
	t.first = first
	for _, sums := range t.sum {
		for s, r := range sums {
			if s >= first || !t.k.wide() {
				t.k.clear(r)
			}
		}
	}
}

// count adds, for each set, the number of bits in the set and in term to the sum for term j. A nil
// term stands for all bits.
func (t *flipCounter) count(j int, term reg.VecVirtual, set [sets]reg.VecVirtual) {
	for s := t.first; s < sets; s++ {
		x, v := t.k.vec(), set[s]
		if term == nil {
			t.k.vmov(v, x)
		} else {
			t.k.meet(v, term, x)
		}
		if t.k.wide() {
			t.k.VPOPCNTQ(x, x)
			sum := t.sum[j][s]
			t.k.VPADDQ(x, sum, sum)
			continue
		}
		n := t.k.byteBits(x, t.low, t.nibble)
		t.k.VPSADBW(t.nothing, n, n)
		if s > 0 {
			t.k.VPSLLQ(operand.U8(16*s), n, n)
		}
		t.k.VPADDQ(n, t.sum[j][0], t.sum[j][0])
	}
}

// packed returns the sums for term j in parts of 16 bits.
func (t *flipCounter) packed(j int) reg.VecVirtual {
	if !t.k.wide() {
		return t.sum[j][0]
	}
	var r reg.VecVirtual
	for s := t.first; s < sets; s++ {
		v := t.sum[j][s]
		if s > 0 {
			t.k.VPSLLQ(operand.U8(16*s), v, v)
		}
		if r == nil {
			r = v
			continue
		}
		t.k.VPADDQ(v, r, r)
	}
	return r
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitTally writes the kernels that count bits of strings.
func bitTally(b *builder) {
	b.each("tallyTorus", tallyTorus)
	b.one(16, "countTorus", countTorus)
}

// countTorus counts bits by the instruction for words. Counts stay below 2³², because there are at
// most 64·512 sites.
func countTorus(k *kernel) {
	now, old, count, regs, sums := k.param("now"), k.param("old"), k.param("count"), k.param("regs"), k.param("sums")
	var sum [5]reg.VecVirtual // up, moved, and those of the planes
	for j := range sum {
		sum[j] = k.vec()
		k.clear(sum[j])
	}
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	at := func(p reg.Register, disp int) operand.Mem {
		return operand.Mem{Base: p, Index: i, Scale: 1, Disp: disp}
	}
	v := k.vec()
	k.VMOVUPS(at(now, 0), v)
	for j := range sum {
		x := k.vec()
		switch j {
		case 0:
			k.VPOPCNTQ(v, x)
		case 1:
			k.VPXORQ(at(old, 0), v, x)
			k.VPOPCNTQ(x, x)
		default:
			k.VPANDQ(at(count, (j-2)*plane), v, x)
			k.VPOPCNTQ(x, x)
		}
		k.VPADDQ(x, sum[j], sum[j])
	}
	k.ADDQ(imm(64), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
	k.VPADDQ(sum[4], sum[4], sum[4])
	k.VPADDQ(sum[3], sum[4], sum[4])
	k.VPADDQ(sum[4], sum[4], sum[4])
	k.VPADDQ(sum[2], sum[4], sum[4])
	for j, s := range []reg.VecVirtual{sum[0], sum[1], sum[4]} {
		k.MOVQ(k.addWords(s).As64(), operand.Mem{Base: sums, Disp: 8 * j})
	}
}

// tallyTorus looks up the weighted bit count of every four bits. It adds counts in bytes, which are
// at most 7·8, and then in words.
func tallyTorus(k *kernel) {
	now, old, count, regs, sums := k.param("now"), k.param("old"), k.param("count"), k.param("regs"), k.param("sums")
	full := func(name string, words ...uint32) reg.VecVirtual {
		var all []uint32
		for range 16 / len(words) {
			all = append(all, words...)
		}
		r := k.vec()
		k.VMOVUPS(k.table(name, all...), r)
		return r
	}
	weight := [3]reg.VecVirtual{
		full("bits1", 0x02010100, 0x03020201, 0x03020201, 0x04030302),
		full("bits2", 0x04020200, 0x06040402, 0x06040402, 0x08060604),
		full("bits4", 0x08040400, 0x0c080804, 0x0c080804, 0x100c0c08),
	}
	low := full("low", 0x0f0f0f0f)
	zero := k.vec()
	k.clear(zero)
	var sum [3]reg.VecVirtual
	for j := range sum {
		sum[j] = k.vec()
		k.clear(sum[j])
	}
	bytes := func(x, weight reg.VecVirtual) reg.VecVirtual { return k.byteBits(x, low, weight) }
	add := func(bytes, sum reg.VecVirtual) {
		k.VPSADBW(zero, bytes, bytes)
		k.VPADDQ(bytes, sum, sum)
	}
	i := k.GP64()
	k.XORQ(i, i)
	k.SHLQ(operand.U8(6), regs)
	k.Label("loop")
	at := func(p reg.Register, disp int) operand.Mem {
		return operand.Mem{Base: p, Index: i, Scale: 1, Disp: disp}
	}
	v, x := k.vec(), k.vec()
	k.VMOVUPS(at(now, 0), v)
	k.vmov(v, x)
	add(bytes(x, weight[0]), sum[0])
	x = k.vec()
	if k.wide() {
		k.VPXORQ(at(old, 0), v, x)
	} else {
		k.VPXOR(at(old, 0), v, x)
	}
	add(bytes(x, weight[0]), sum[1])
	var total reg.VecVirtual
	for j := range weight {
		x := k.vec()
		k.meet(at(count, j*plane), v, x)
		n := bytes(x, weight[j])
		if j == 0 {
			total = n
		} else {
			k.VPADDB(n, total, total)
		}
	}
	add(total, sum[2])
	k.ADDQ(imm(4*k.w), i)
	k.CMPQ(i, regs)
	k.JL(operand.LabelRef("loop"))
	for j, s := range sum {
		k.MOVQ(k.addWords(s).As64(), operand.Mem{Base: sums, Disp: 8 * j})
	}
}

// byteBits returns the weighted number of bits in each byte of x, which it overwrites. weight is a
// table of the counts of four bits, and low is the mask of the low four bits.
func (k *kernel) byteBits(x, low, weight reg.VecVirtual) reg.VecVirtual {
	n := k.vec()
	k.meet(low, x, n)
	k.VPSRLW(operand.U8(4), x, x)
	k.meet(low, x, x)
	k.VPSHUFB(n, weight, n)
	k.VPSHUFB(x, weight, x)
	k.VPADDB(x, n, n)
	return n
}

package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fixed writes the products of matrices of 16-bit integers. A register holds a pair of rows of b,
// for as many columns as it has lanes. A row of a provides the same pair for every lane.
func fixed(b *builder) {
	tile := func(w, rows int, name string, fused bool) {
		b.one(w, fmt.Sprintf("%s%d", name, rows), func(k *kernel) { fixedTile(k, rows, fused) })
	}
	for _, rows := range []int{13, 12, 8, 4, 2, 1} {
		tile(16, rows, "fusedTile", true)
		tile(16, rows, "fixedTile", false)
	}
	for _, rows := range []int{5, 2, 1} {
		tile(8, rows, "fixedTile", false)
	}
	b.each("fixedRows", fixedRows)
	b.each("logisticWords", logisticWords)
}

func fixedTile(k *kernel, rows int, fused bool) {
	sums, a, b, pairs := k.param("acc"), k.param("a"), k.param("b"), k.param("pairs")
	lda, next := k.param("lda"), k.param("next")
	k.SHLQ(operand.U8(1), lda)
	acc := make([][2]reg.VecVirtual, rows)
	for i := range acc {
		for half := range acc[i] {
			acc[i][half] = k.vec()
			k.VMOVUPS(operand.Mem{Base: sums, Disp: 4 * k.w * (2*i + half)}, acc[i][half])
		}
	}
	if k.wide() {
		k.SHLQ(operand.U8(1), next)
	} else {
		k.MOVQ(imm(32), next)
	}
	in := make([]operand.Mem, rows) // one pointer addresses three rows
	base := a
	for i := range in {
		if i > 0 && i%3 == 0 {
			p := k.GP64()
			k.LEAQ(operand.Mem{Base: base, Index: lda, Scale: 2}, p)
			k.ADDQ(lda, p)
			base = p
		}
		in[i] = operand.Mem{Base: base}
		if i%3 > 0 {
			in[i].Index, in[i].Scale = lda, uint8(i%3)
		}
	}
	k.Label("pair")
	var cols [2]reg.VecVirtual
	for half := range cols {
		cols[half] = k.vec()
	}
	k.VMOVUPS(operand.Mem{Base: b}, cols[0])
	k.VMOVUPS(operand.Mem{Base: b, Index: next, Scale: 1}, cols[1])
	for i := range rows {
		x := k.vec()
		k.VPBROADCASTD(in[i], x)
		for half, c := range cols {
			if fused {
				sum := acc[i][half]
				k.Instruction(&ir.Instruction{ // avo lacks this instruction
					Opcode: "VPDPWSSD", Operands: []operand.Op{c, x, sum},
					Inputs: []operand.Op{c, x, sum}, Outputs: []operand.Op{sum}, ISA: []string{"AVX512_VNNI"},
				})
			} else {
				p := k.vec()
				k.VPMADDWD(c, x, p)
				k.VPADDD(p, acc[i][half], acc[i][half])
			}
		}
	}
	for i := 0; i < rows; i += 3 {
		k.ADDQ(imm(4), in[i].Base)
	}
	k.ADDQ(imm(64), b)
	k.DECQ(pairs)
	k.JNZ(operand.LabelRef("pair"))
	for i := range acc {
		for half, r := range acc[i] {
			k.VMOVUPS(r, operand.Mem{Base: sums, Disp: 4 * k.w * (2*i + half)})
		}
	}
}

func fixedRows(k *kernel) {
	c, acc, rows, ldc := k.param("c"), k.param("acc"), k.param("rows"), k.param("ldc")
	k.SHLQ(operand.U8(2), ldc)
	var factors, terms [2]reg.VecVirtual
	scale, origin := k.param("scale"), k.param("origin")
	for half := range 2 {
		factors[half], terms[half] = k.vec(), k.vec()
		k.VMOVUPS(operand.Mem{Base: scale, Disp: 4 * k.w * half}, factors[half])
		k.VMOVUPS(operand.Mem{Base: origin, Disp: 4 * k.w * half}, terms[half])
	}
	k.Label("row")
	for half := range 2 {
		v := k.vec()
		k.VCVTDQ2PS(operand.Mem{Base: acc, Disp: 4 * k.w * half}, v)
		k.store(k.add(terms[half], k.mul(v, factors[half])), operand.Mem{Base: c, Disp: 4 * k.w * half}, nil)
	}
	k.ADDQ(imm(8*k.w), acc)
	k.ADDQ(ldc, c)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
}

func logisticWords(k *kernel) {
	dst, src, n := k.param("dst"), k.param("src"), k.param("n")
	c, sign := k.expConsts(), k.u32(1<<31)
	scale, half := k.f32(0x1p13), k.f32(0x1p12)
	var low operand.Op
	if !k.wide() {
		low = k.u32(0xFFFF)
	}
	i := k.GP64()
	k.XORQ(i, i)
	k.Label("loop")
	v := k.vec()
	k.VCVTPS2DQ(k.sub(k.mul(k.sigmoid(c, sign, k.load(at(src, i, 0), nil)), scale), half), v)
	to := operand.Mem{Base: dst, Index: i, Scale: 2}
	if k.wide() {
		k.VPMOVDW(v, to)
	} else { // keeps the low halves, also for NaN
		k.VPAND(low, v, v)
		h := k.XMM()
		k.VEXTRACTI128(operand.U8(1), v, h)
		k.VPACKUSDW(h, v.AsX(), v.AsX())
		k.VMOVDQU(v.AsX(), to)
	}
	k.ADDQ(imm(k.w), i)
	k.CMPQ(i, n)
	k.JL(operand.LabelRef("loop"))
}

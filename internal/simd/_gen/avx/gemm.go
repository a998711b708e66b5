package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm writes the register tiles of the matrix products, which add a·b to a tile c of rows × cols.
// Each entry is one fused chain in ascending order of k, so that all tiles give the same bits.
func gemm(b *builder) {
	tile := func(w, rows, cols int) {
		b.one(w, fmt.Sprintf("gemm%dx%d", rows, cols), func(k *kernel) { gemmTile(k, rows, cols/w) })
	}
	for _, rows := range []int{12, 4, 2, 1} {
		tile(16, rows, 32)
	}
	tile(16, 1, 128)
	for _, rows := range []int{6, 2, 1} {
		tile(8, rows, 16)
	}
	tile(8, 1, 64)
	b.each("packRows", packRows)
	b.each("packColumns", packColumns)
}

func gemmTile(k *kernel, rows, parts int) {
	c, a, b, depth := k.param("c"), k.param("a"), k.param("b"), k.param("depth")
	ldc, lda, ldb := k.param("ldc"), k.param("lda"), k.param("ldb")
	for _, ld := range []reg.GPVirtual{ldc, lda, ldb} {
		k.SHLQ(operand.U8(2), ld)
	}
	// place returns memory operands for rows that begin at base. One pointer addresses three rows.
	place := func(base, ld reg.GPVirtual) []operand.Mem {
		var at []operand.Mem
		p := base
		for i := range rows {
			if i > 0 && i%3 == 0 {
				next := k.GP64()
				k.LEAQ(operand.Mem{Base: p, Index: ld, Scale: 2}, next)
				k.ADDQ(ld, next)
				p = next
			}
			m := operand.Mem{Base: p}
			if i%3 > 0 {
				m.Index, m.Scale = ld, uint8(i%3)
			}
			at = append(at, m)
		}
		return at
	}
	out := place(c, ldc)
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		for j := range parts {
			r := k.vec()
			k.VMOVUPS(out[i].Offset(4*k.w*j), r)
			acc[i] = append(acc[i], r)
		}
	}
	in := place(a, lda)
	k.Label("loop")
	cols := make([]reg.VecVirtual, parts)
	if rows > 1 {
		for j := range cols {
			cols[j] = k.vec()
			k.VMOVUPS(operand.Mem{Base: b, Disp: 4 * k.w * j}, cols[j])
		}
	}
	for i := range rows {
		x := k.vec()
		k.VBROADCASTSS(in[i], x)
		for j := range parts {
			if rows > 1 {
				k.VFMADD231PS(cols[j], x, acc[i][j])
			} else {
				k.VFMADD231PS(operand.Mem{Base: b, Disp: 4 * k.w * j}, x, acc[i][j])
			}
		}
	}
	for i := 0; i < rows; i += 3 {
		k.ADDQ(imm(4), in[i].Base)
	}
	k.ADDQ(ldb, b)
	k.DECQ(depth)
	k.JNZ(operand.LabelRef("loop"))
	for i := range acc {
		for j, r := range acc[i] {
			k.VMOVUPS(r, out[i].Offset(4*k.w*j))
		}
	}
}

func packRows(k *kernel) {
	dst, src, rows, ld := k.param("dst"), k.param("src"), k.param("rows"), k.param("ld")
	k.SHLQ(operand.U8(2), ld)
	k.Label("loop")
	for j := range 2 {
		r := k.vec()
		k.VMOVUPS(operand.Mem{Base: src, Disp: 4 * k.w * j}, r)
		k.VMOVUPS(r, operand.Mem{Base: dst, Disp: 4 * k.w * j})
	}
	k.ADDQ(ld, src)
	k.ADDQ(imm(8*k.w), dst)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("loop"))
}

// packColumns transposes blocks of 8×8 or 16×16 words. It exchanges pairs of words, then pairs of
// pairs, then whole quarters of registers. Each step exchanges one bit of the row index and the
// column index.
func packColumns(k *kernel) {
	dst, src, blocks, ld := k.param("dst"), k.param("src"), k.param("blocks"), k.param("ld")
	k.SHLQ(operand.U8(2), ld)
	ld3 := k.GP64()
	k.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	k.Label("block")
	p := k.GP64()
	k.MOVQ(src, p)
	rows := make([]reg.VecVirtual, k.w)
	for i := range rows {
		m := operand.Mem{Base: p}
		switch i % 4 {
		case 1, 2:
			m.Index, m.Scale = ld, uint8(i%4)
		case 3:
			m.Index, m.Scale = ld3, 1
		}
		rows[i] = k.vec()
		k.VMOVUPS(m, rows[i])
		if i%4 == 3 {
			k.LEAQ(operand.Mem{Base: p, Index: ld, Scale: 4}, p)
		}
	}
	// pair returns the low and the high interleaving of two registers.
	pair := func(lo, hi func(a, b operand.Op, r reg.VecVirtual), a, b reg.VecVirtual) (reg.VecVirtual, reg.VecVirtual) {
		l, h := k.vec(), k.vec()
		lo(b, a, l)
		hi(b, a, h)
		return l, h
	}
	unpackLo := func(b, a operand.Op, r reg.VecVirtual) { k.VUNPCKLPS(b, a, r) }
	unpackHi := func(b, a operand.Op, r reg.VecVirtual) { k.VUNPCKHPS(b, a, r) }
	unpackLoPD := func(b, a operand.Op, r reg.VecVirtual) { k.VUNPCKLPD(b, a, r) }
	unpackHiPD := func(b, a operand.Op, r reg.VecVirtual) { k.VUNPCKHPD(b, a, r) }
	for q := 0; q < k.w; q += 4 {
		a, b := pair(unpackLo, unpackHi, rows[q], rows[q+1])
		c, d := pair(unpackLo, unpackHi, rows[q+2], rows[q+3])
		rows[q], rows[q+1] = pair(unpackLoPD, unpackHiPD, a, c)
		rows[q+2], rows[q+3] = pair(unpackLoPD, unpackHiPD, b, d)
	}
	// Now rows[4q+i] holds, in quarter h, column 4h+i of rows 4q to 4q+3.
	out := make([]reg.VecVirtual, k.w)
	for i := range 4 {
		if k.wide() {
			shuffle := func(sel uint8, a, b reg.VecVirtual) reg.VecVirtual {
				r := k.vec()
				k.VSHUFF32X4(operand.U8(sel), b, a, r)
				return r
			}
			a, b := shuffle(0x88, rows[i], rows[4+i]), shuffle(0xDD, rows[i], rows[4+i])
			c, d := shuffle(0x88, rows[8+i], rows[12+i]), shuffle(0xDD, rows[8+i], rows[12+i])
			out[i], out[8+i] = shuffle(0x88, a, c), shuffle(0xDD, a, c)
			out[4+i], out[12+i] = shuffle(0x88, b, d), shuffle(0xDD, b, d)
		} else {
			out[i], out[4+i] = k.vec(), k.vec()
			k.VPERM2F128(operand.U8(0x20), rows[4+i], rows[i], out[i])
			k.VPERM2F128(operand.U8(0x31), rows[4+i], rows[i], out[4+i])
		}
	}
	for i, r := range out {
		k.VMOVUPS(r, operand.Mem{Base: dst, Disp: 8 * k.w * i})
	}
	k.ADDQ(imm(4*k.w), src)
	k.ADDQ(imm(8*k.w*k.w), dst)
	k.DECQ(blocks)
	k.JNZ(operand.LabelRef("block"))
}

package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// choice writes the kernels for sums of the rows that states choose. All sums of groups of four
// rows go into a table, from which each state takes one sum per group.
//
// With AVX-512 up to twenty-five states stay in registers during the loop over the tables, which
// are one register wide; the tables of eight groups are in memory. With AVX2 the tables of several
// groups are computed first, two registers wide, so that an index is used twice. They hold the sums
// of the first register before those of the second.
func choice(b *builder) {
	b.one(8, "sumTables", func(k *kernel) { sumTables(k, false) })
	b.one(8, "sumTables64", func(k *kernel) { sumTables(k, true) })
	for _, rows := range []int{8, 4, 2, 1} {
		b.one(8, fmt.Sprintf("addSums%d", rows), func(k *kernel) { addSums(k, rows, false) })
		b.one(8, fmt.Sprintf("addSums64x%d", rows), func(k *kernel) { addSums(k, rows, true) })
	}
	for _, rows := range []int{25, 16, 8, 4, 2, 1} {
		b.one(16, fmt.Sprintf("addChosen%d", rows), func(k *kernel) { addChosen(k, rows, false) })
		b.one(16, fmt.Sprintf("addChosen64x%d", rows), func(k *kernel) { addChosen(k, rows, true) })
	}
	b.each("spill", spill)
}

// tableParts returns the width of a table in registers.
func (k *kernel) tableParts() int {
	if k.wide() {
		return 1
	}
	return 2
}

// plus adds float64 numbers if double is true, and float32 numbers otherwise.
func (k *kernel) plus(double bool, a operand.Op, b, sum reg.VecVirtual) {
	if double {
		k.VADDPD(a, b, sum)
	} else {
		k.VADDPS(a, b, sum)
	}
}

// sumTable computes a table from the sums of the first two rows and of the other two. It does not
// write entry 0.
func sumTable(k *kernel, t operand.Mem, w, ld reg.GPVirtual, off int, double bool) (last reg.GPVirtual) {
	row := k.GP64()
	k.MOVQ(w, row)
	var sums [16]reg.VecVirtual
	store := func(p int) { k.VMOVUPS(sums[p], t.Offset(4*k.w*p)) }
	for i := range 4 {
		p := 1 << i
		sums[p] = k.vec()
		if double {
			k.VCVTPS2PD(operand.Mem{Base: row, Disp: off / 2}, sums[p])
		} else {
			k.VMOVUPS(operand.Mem{Base: row, Disp: off}, sums[p])
		}
		store(p)
		if i < 3 {
			k.ADDQ(ld, row)
		}
		if i%2 == 1 {
			sums[3*p/2] = k.vec()
			k.plus(double, sums[p], sums[p/2], sums[3*p/2])
			store(3 * p / 2)
		}
	}
	for _, high := range []int{4, 8, 12} {
		for low := 1; low < 4; low++ {
			sums[high+low] = k.vec()
			k.plus(double, sums[high], sums[low], sums[high+low])
			store(high + low)
		}
	}
	return row
}

// sumTables writes the kernel that computes tables, two registers wide.
func sumTables(k *kernel, double bool) {
	t, w, groups, ld := k.param("t"), k.param("w"), k.param("groups"), k.param("ld")
	k.SHLQ(operand.U8(2), ld)
	zero := k.vec()
	k.clear(zero)
	k.Label("group")
	var row reg.GPVirtual
	for half := range k.tableParts() {
		to := operand.Mem{Base: t, Disp: 64 * k.w * half}
		k.VMOVUPS(zero, to)
		row = sumTable(k, to, w, ld, 4*k.w*half, double)
	}
	k.LEAQ(operand.Mem{Base: row, Index: ld, Scale: 1}, w)
	k.ADDQ(imm(64*k.w*k.tableParts()), t)
	k.DECQ(groups)
	k.JNZ(operand.LabelRef("group"))
}

// addSums writes a kernel that holds the rows in registers during the loop over the tables.
func addSums(k *kernel, rows int, double bool) {
	c, t, q, groups := k.param("c"), k.param("t"), k.param("q"), k.param("groups")
	ldc, ldq := k.param("ldc"), k.param("ldq")
	acc := loadRows(k, c, ldc, rows, double)
	k.Label("group")
	take(k, acc, t, q, double)
	k.ADDQ(ldq, q)
	k.ADDQ(imm(64*k.w*k.tableParts()), t)
	k.DECQ(groups)
	k.JNZ(operand.LabelRef("group"))
	storeRows(k, acc, c, ldc)
}

// tablesAhead is the number of tables that are computed before the first one is read, so that
// stores complete before the loads.
const tablesAhead = 2

// addChosen writes a kernel that computes tables and adds sums from them, group by group.
func addChosen(k *kernel, rows int, double bool) {
	c, t, w, q, groups := k.param("c"), k.param("t"), k.param("w"), k.param("q"), k.param("groups")
	ldc, ldw, ldq := k.param("ldc"), k.param("ldw"), k.param("ldq")
	k.SHLQ(operand.U8(2), ldw)
	zero := k.vec()
	k.clear(zero)
	for table := range 8 {
		k.VMOVUPS(zero, operand.Mem{Base: t, Disp: 1024 * table})
	}
	acc := loadRows(k, c, ldc, rows, double)
	built, read, early := k.GP64(), k.GP64(), k.GP64()
	at := k.GP64()
	next := func(offset reg.GPVirtual) {
		k.LEAQ(operand.Mem{Base: t, Index: offset, Scale: 1}, at)
		k.ADDQ(imm(1024), offset)
		k.ANDQ(imm(8*1024-1), offset)
	}
	build := func() {
		next(built)
		row := sumTable(k, operand.Mem{Base: at}, w, ldw, 0, double)
		k.LEAQ(operand.Mem{Base: row, Index: ldw, Scale: 1}, w)
	}
	add := func() {
		next(read)
		take(k, acc, at, q, double)
		k.ADDQ(ldq, q)
	}
	k.XORQ(built, built)
	k.XORQ(read, read)
	k.MOVQ(imm(tablesAhead), early)
	k.CMPQ(groups, early)
	k.CMOVQLT(groups, early)
	k.SUBQ(early, groups)
	count := k.GP64()
	k.MOVQ(early, count)
	k.Label("early")
	build()
	k.DECQ(count)
	k.JNZ(operand.LabelRef("early"))
	k.TESTQ(groups, groups)
	k.JZ(operand.LabelRef("last"))
	k.Label("group")
	build()
	add()
	k.DECQ(groups)
	k.JNZ(operand.LabelRef("group"))
	k.Label("last")
	add()
	k.DECQ(early)
	k.JNZ(operand.LabelRef("last"))
	storeRows(k, acc, c, ldc)
}

func loadRows(k *kernel, c, ldc reg.GPVirtual, rows int, double bool) [][]reg.VecVirtual {
	size := uint8(2)
	if double {
		size = 3
	}
	k.SHLQ(operand.U8(size), ldc)
	acc := make([][]reg.VecVirtual, rows)
	p := k.GP64()
	k.MOVQ(c, p)
	for i := range acc {
		for part := range k.tableParts() {
			acc[i] = append(acc[i], k.vec())
			k.VMOVUPS(operand.Mem{Base: p, Disp: 4 * k.w * part}, acc[i][part])
		}
		if i < rows-1 {
			k.ADDQ(ldc, p)
		}
	}
	return acc
}

func storeRows(k *kernel, acc [][]reg.VecVirtual, c, ldc reg.GPVirtual) {
	for i := range acc {
		for part, a := range acc[i] {
			k.VMOVUPS(a, operand.Mem{Base: c, Disp: 4 * k.w * part})
		}
		if i < len(acc)-1 {
			k.ADDQ(ldc, c)
		}
	}
}

// take adds a sum from the table t to each row. An index is 8 times the number of a sum; several
// indices are loaded together.
func take(k *kernel, acc [][]reg.VecVirtual, t, q reg.GPVirtual, double bool) {
	// The second byte of RAX can only be moved to a legacy register.
	bits, index := reg.RAX, [2]reg.GPPhysical{reg.RBX, reg.RCX}
	for i := 0; i < len(acc); {
		n, m := 8, operand.Mem{Base: q, Disp: i}
		for n > len(acc)-i {
			n /= 2
		}
		switch n {
		case 8:
			k.MOVQ(m, bits)
		case 4:
			k.MOVL(m, bits.As32())
		case 2:
			k.MOVWLZX(m, bits.As32())
		}
		for j := range n {
			at := index[j%2]
			switch {
			case n == 1:
				k.MOVBLZX(m, at.As32())
			case j%2 == 0:
				k.MOVBLZX(reg.AL, at.As32())
			default:
				k.MOVBLZX(reg.AH, at.As32())
				if j < n-1 {
					k.SHRQ(operand.U8(16), bits)
				}
			}
			for part, a := range acc[i+j] {
				k.plus(double, operand.Mem{Base: t, Index: at, Scale: uint8(k.w / 2), Disp: 64 * k.w * part}, a, a)
			}
		}
		i += n
	}
}

func spill(k *kernel) {
	dst, f, sums, origin := k.param("dst"), k.param("f"), k.param("sums"), k.param("origin")
	rows, ld := k.param("rows"), k.param("ld")
	k.SHLQ(operand.U8(2), ld)
	from := make([]reg.VecVirtual, k.tableParts())
	for part := range from {
		from[part] = k.vec()
		k.VMOVUPD(operand.Mem{Base: origin, Disp: 4 * k.w * part}, from[part])
	}
	k.Label("row")
	for part, o := range from {
		v, h := k.vec(), k.half()
		k.VADDPD(operand.Mem{Base: sums, Disp: 4 * k.w * part}, o, v)
		k.VMOVUPD(v, operand.Mem{Base: dst, Disp: 4 * k.w * part})
		if k.wide() {
			k.VCVTPD2PS(v, h)
		} else {
			k.VCVTPD2PSY(v, h)
		}
		k.VMOVUPS(h, operand.Mem{Base: f, Disp: 2 * k.w * part})
	}
	k.ADDQ(imm(4*k.w*k.tableParts()), sums)
	k.ADDQ(ld, f)
	k.LEAQ(operand.Mem{Base: dst, Index: ld, Scale: 2}, dst)
	k.DECQ(rows)
	k.JNZ(operand.LabelRef("row"))
}

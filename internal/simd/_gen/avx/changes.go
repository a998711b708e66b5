package avx

import "github.com/mmcloughlin/avo/operand"

// changes writes the kernel that finds the sites where states differ. It compresses the indices of
// sixteen sites at a time.
func changes(b *builder) {
	b.one(16, "changes", func(k *kernel) {
		rows, y, x, n := k.param("rows"), k.param("y"), k.param("x"), k.param("n")
		words := make([]uint32, 16)
		for i := range words {
			words[i] = uint32(i)
		}
		places, sixteen, one := k.vec(), k.u32(16), k.u32(1)
		k.VMOVDQU32(k.table("places", words...), places)
		i, found, count := k.GP64(), k.GP64(), k.GP64()
		k.XORQ(i, i)
		k.XORQ(found, found)
		k.Label("loop")
		d, m := k.vec(), k.K()
		k.VMOVDQU32(at(y, i, 0), d)
		k.VPSUBD(at(x, i, 0), d, d) // −1, 0 or 1
		k.VPTESTMD(one, d, m)
		k.VPSRAD(operand.U8(31), d, d)
		k.VPXORD(places, d, d)
		k.VPCOMPRESSD_Z(d, m, d)
		// Rows has space for as many entries as have been compared.
		k.VMOVDQU32(d, at(rows, found, 0))
		k.KMOVW(m, count.As32())
		k.POPCNTL(count.As32(), count.As32())
		k.ADDQ(count, found)
		k.VPADDD(sixteen, places, places)
		k.ADDQ(imm(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
		k.Store(found, k.ReturnIndex(0))
	})
	b.one(16, "quads", func(k *kernel) {
		dst, x, n, ld := k.param("dst"), k.param("x"), k.param("n"), k.param("ld")
		one, m, bits, b := k.u32(1), k.K(), k.GP32(), k.GP32()
		sites := k.vec()
		k.Label("loop")
		k.VMOVDQU32(operand.Mem{Base: x}, sites)
		k.VPTESTMD(one, sites, m)
		k.KMOVW(m, bits)
		k.SHLL(operand.U8(3), bits)
		for i := range 4 {
			k.MOVL(bits, b)
			k.ANDL(operand.U32(0x78), b)
			k.MOVB(b.As8(), operand.Mem{Base: dst})
			k.ADDQ(ld, dst)
			if i < 3 {
				k.SHRL(operand.U8(4), bits)
			}
		}
		k.ADDQ(imm(64), x)
		k.SUBQ(imm(4), n)
		k.JNZ(operand.LabelRef("loop"))
	})
}

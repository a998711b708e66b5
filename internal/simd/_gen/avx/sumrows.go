package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bytes returns a register whose lowest bytes are the bytes of v from a given byte on. The number
// of that byte is a multiple of the number of lanes.
func (k *kernel) bytes(v reg.VecVirtual, from int) reg.Register {
	x := v.AsX()
	if from >= 16 {
		x = k.XMM()
		k.VEXTRACTI128(operand.U8(1), v, x)
	}
	if from%16 == 8 {
		h := k.XMM()
		k.VPSRLDQ(operand.U8(8), x, h)
		x = h
	}
	return x
}

func sumRows(k *kernel) {
	sum, rows, n := k.param("sum"), k.param("rows"), k.param("n")
	var accs [4]reg.VecVirtual
	for j := range accs {
		accs[j] = k.YMM()
		k.VPXOR(accs[j], accs[j], accs[j])
	}
	acc := accs[0]
	k.Label("rows")
	k.SUBQ(imm(len(accs)), n)
	k.JL(operand.LabelRef("rest"))
	for j, r := range accs {
		k.VPADDB(operand.Mem{Base: rows, Disp: rowBytes * j}, r, r)
	}
	k.ADDQ(imm(len(accs)*rowBytes), rows)
	k.JMP(operand.LabelRef("rows"))
	k.Label("rest")
	k.ADDQ(imm(len(accs)), n)
	k.JZ(operand.LabelRef("sum"))
	k.Label("row")
	k.VPADDB(operand.Mem{Base: rows}, acc, acc)
	k.ADDQ(imm(rowBytes), rows)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("row"))
	k.Label("sum")
	for _, r := range accs[1:] {
		k.VPADDB(r, acc, acc)
	}
	for part := 0; part < 32; part += k.w {
		v := k.vec()
		m := operand.Mem{Base: sum, Disp: 4 * part}
		k.VPMOVZXBD(k.bytes(acc, part), v)
		k.VPADDD(m, v, v)
		k.VMOVUPS(v, m)
	}
}

package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// visits writes the kernels for visits of single sites of a graph. They use no vector instructions,
// because every visit depends on the result of the previous one.
func visits(b *builder) {
	b.one(8, "visitHeat", func(k *kernel) { visit(k, false) })
	b.one(8, "visitPropose", func(k *kernel) { visit(k, true) })
}

// Offsets of the fields of visitsASM.
const (
	visitMoved = 8 * iota
	visitOnes
	visitEqual
	visitFirst
	visitStart
	visitAdj
)

func visit(k *kernel, propose bool) {
	v, look, x, sites := k.param("v"), k.param("look"), k.param("x"), k.param("sites")
	words, table, n := k.param("words"), k.param("table"), k.param("n")
	i, l, old, u, next := k.GP64(), k.GP64(), k.GP64(), k.GP64(), k.GP64()
	sum := k.GP64()
	at := func(base, index reg.Register) operand.Mem { return operand.Mem{Base: base, Index: index, Scale: 4} }
	field := func(disp int) operand.Mem { return operand.Mem{Base: v, Disp: disp} }
	k.XORQ(sum, sum)
	k.Label("site")
	k.MOVLQSX(operand.Mem{Base: sites}, i)
	k.MOVL(at(x, i), old.As32())
	k.ANDL(imm(1), old.As32())
	k.MOVL(at(look, i), l.As32())
	k.MOVQ(operand.Mem{Base: words}, u)
	entry := operand.Mem{Base: table, Index: l, Scale: 8}
	k.XORL(next.As32(), next.As32())
	if propose {
		k.LEAQ(operand.Mem{Base: old, Index: l, Scale: 4}, l)
	}
	k.CMPQ(u, entry)
	k.ADCL(imm(0), next.As32())
	if propose {
		k.ADDQ(entry.Offset(16), sum)
	}
	k.CMPL(next.As32(), old.As32())
	k.JNE(operand.LabelRef("flip"))
	k.Label("next")
	k.ADDQ(imm(8), words)
	k.ADDQ(imm(4), sites)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("site"))
	k.Store(sum, k.ReturnIndex(0))
	k.VZEROUPPER()
	k.RET()

	k.Label("flip")
	k.MOVL(next.As32(), at(x, i))
	by := next
	k.LEAL(operand.Mem{Base: next, Index: next, Scale: 1, Disp: -1}, by.As32())
	near, end := k.GP64(), k.GP64()
	t, first := u, old
	k.INCQ(field(visitMoved))
	k.MOVLQSX(by.As32(), t)
	k.ADDQ(t, field(visitOnes))
	k.MOVQ(field(visitStart), first)
	k.MOVLQSX(at(first, i), near)
	k.MOVLQSX(at(first, i).Offset(4), end)
	k.MOVL(at(look, i), l.As32())
	k.MOVQ(field(visitFirst), first)
	k.SUBL(at(first, i), l.As32())
	k.ADDL(l.As32(), l.As32())
	k.SUBL(end.As32(), l.As32())
	k.ADDL(near.As32(), l.As32())
	k.MOVLQSX(l.As32(), l)
	k.IMULQ(l, t)
	k.ADDQ(t, field(visitEqual))
	k.MOVQ(field(visitAdj), first)
	k.LEAQ(at(first, near), near)
	k.LEAQ(at(first, end), end)
	four, one := k.label("four"), k.label("one")
	k.SUBQ(imm(16), end)
	k.Label(four)
	k.CMPQ(near, end)
	k.JA(operand.LabelRef(one))
	for j := range 4 {
		r := []reg.GPVirtual{i, l, t, first}[j]
		k.MOVL(operand.Mem{Base: near, Disp: 4 * j}, r.As32())
	}
	for j := range 4 {
		r := []reg.GPVirtual{i, l, t, first}[j]
		k.ADDL(by.As32(), at(look, r))
	}
	k.ADDQ(imm(16), near)
	k.JMP(operand.LabelRef(four))
	k.Label(one)
	k.ADDQ(imm(16), end)
	last := k.label("last")
	k.Label(last)
	k.CMPQ(near, end)
	k.JAE(operand.LabelRef("next"))
	k.MOVL(operand.Mem{Base: near}, i.As32())
	k.ADDL(by.As32(), at(look, i))
	k.ADDQ(imm(4), near)
	k.JMP(operand.LabelRef(last))
}

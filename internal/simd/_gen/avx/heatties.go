package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tie decides the tied chains g by further random bits, and sets the chains below their probability
// in mask. It jumps to end if there are too few random words. The operand second holds the next
// eight bits of the first chain.
func (w *redrawer) tie(table, counts, g, mask reg.GPVirtual, second operand.Mem, end string) {
	k := w.k
	n, ties := k.GP64(), k.GP64()
	k.POPCNTL(g, n.As32())
	k.CMPQ(w.left, n)
	k.JL(operand.LabelRef(end))
	k.SUBQ(n, w.left)
	k.MOVQ(w.ties, ties)
	k.LEAQ(operand.Mem{Base: ties, Index: n, Scale: 8}, n)
	k.MOVQ(n, w.ties)
	chain := func(digits func(u reg.GPVirtual)) {
		c, p, u := k.GP64(), k.GP64(), k.GP64()
		k.TZCNTL(g, c.As32())
		w.look(table, counts, c, p)
		k.SHLQ(operand.U8(8), p)
		k.SHRQ(operand.U8(8), p)
		k.MOVQ(operand.Mem{Base: ties}, u)
		k.ADDQ(imm(8), ties)
		digits(u)
		k.CMPQ(u, p)
		k.SBBL(p.As32(), p.As32())
		k.ANDL(imm(1), p.As32())
		k.SHLXL(c.As32(), p.As32(), p.As32())
		k.ORL(p.As32(), mask)
		k.BLSRL(g, g)
	}
	chain(func(u reg.GPVirtual) {
		v := k.GP64()
		k.SHRQ(operand.U8(16), u)
		k.MOVBQZX(second, v)
		k.SHLQ(operand.U8(48), v)
		k.ORQ(v, u)
	})
	loop, done := k.label("chain"), k.label("chains")
	k.JZ(operand.LabelRef(done))
	k.Label(loop)
	chain(func(u reg.GPVirtual) { k.SHRQ(operand.U8(8), u) })
	k.JNZ(operand.LabelRef(loop))
	k.Label(done)
}

// stored returns the address of the sums of a visit that has ties.
func (w *redrawer) stored() reg.GPVirtual {
	p := w.k.GP64()
	w.k.LEAQ(w.counts, p)
	return p
}

// look loads the probability of chain c into p. The operand counts holds the index in the table for
// each chain.
func (w *redrawer) look(table, counts, c, p reg.GPVirtual) {
	k := w.k
	k.MOVBQZX(operand.Mem{Base: counts, Index: c, Scale: 1}, p)
	k.MOVQ(operand.Mem{Base: table, Index: p, Scale: 8, Disp: 256}, p)
}

package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// philoxSource computes the words of Philox.
type philoxSource struct {
	*philoxBlocks
	base    reg.VecVirtual // counter of the first group of a register
	counter reg.VecVirtual // even counters of the next group
	offsets operand.Mem
	merge   reg.OpmaskVirtual
}

func newPhiloxSource(k *kernel) source {
	p := &philoxSource{}
	if k.wide() {
		p.philoxBlocks = k.philox(k.constant64(0xD2511F53), k.constant64(0xCD9E8D57))
	} else {
		p.philoxBlocks = k.philox(k.quads("mul0", 0xD2511F53), k.quads("mul1", 0xCD9E8D57))
	}
	p.base = k.splat64(k.param("counter"))
	words := []uint32{}
	for i := range 8 {
		words = append(words, uint32(2*i), 0)
	}
	p.offsets = k.table("even", words...)
	if k.wide() {
		p.merge = k.K()
		g := k.GP32()
		k.MOVL(operand.U32(0xAAAA), g)
		k.KMOVW(g, p.merge)
	}
	return p
}

func (p *philoxSource) begin(pass int) {
	p.counter = p.vec()
	p.VPADDQ(p.offsets.Offset(32*pass), p.base, p.counter)
}

func (p *philoxSource) next() { p.VPADDQ(p.quads("nextRegister", 256), p.base, p.base) }

func (p *philoxSource) skip(groups int) { p.VPADDQ(p.groups(groups), p.counter, p.counter) }

// groups is how far counters of groups are apart.
func (p *philoxSource) groups(n int) operand.Mem {
	return p.quads(fmt.Sprintf("groups%d", n), uint32(16*n))
}

func (p *philoxSource) planes(group int) []reg.VecVirtual {
	k := p.kernel
	even, odd := k.vec(), k.vec()
	if group == 0 {
		k.vmov(p.counter, even)
	} else {
		k.VPADDQ(p.groups(group), p.counter, even)
	}
	k.VPADDQ(k.quads("one", 1), even, odd)
	chain := p.blocks(even, odd)
	for w := range 4 {
		even, odd := chain[0][w], chain[1][w]
		if k.wide() {
			k.VMOVSLDUP(odd, p.merge, even)
		} else {
			k.VPSLLQ(operand.U8(32), odd, odd)
			k.VPBLENDD(operand.U8(0xAA), odd, even, even)
		}
	}
	return chain[0][:]
}

// aesSource computes the words of ARS.
type aesSource struct {
	*aesCipher
	start   reg.VecVirtual // counter of the first group of a register
	counter reg.VecVirtual // and of the next group
	pass    int
}

func newAESSource(k *kernel) source {
	c := k.aes()
	return &aesSource{aesCipher: c, start: c.base()}
}

func (a *aesSource) begin(pass int) {
	a.pass = pass
	a.counter = a.vec()
	a.vmov(a.start, a.counter)
}

func (a *aesSource) planes(group int) []reg.VecVirtual {
	at := a.counter
	if group > 0 {
		at = a.vec()
		a.VPADDQ(a.ahead(16*group), a.counter, at)
	}
	return a.aesCipher.planes(at, a.pass)
}

func (a *aesSource) skip(groups int) { a.VPADDQ(a.ahead(16*groups), a.counter, a.counter) }

func (a *aesSource) next() { a.VPADDQ(a.ahead(256), a.start, a.start) }

package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// philoxSource provides the random words of Philox.
type philoxSource struct {
	*philoxBlocks
	base    reg.VecVirtual // counter of the first group for the current register
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
	p.merge = k.oddLanes()
	return p
}

func (p *philoxSource) begin(pass int) {
	p.counter = p.philoxBlocks.k.vec()
	p.philoxBlocks.k.VPADDQ(p.offsets.Offset(32*pass), p.base, p.counter)
}

func (p *philoxSource) next() {
	p.philoxBlocks.k.VPADDQ(p.philoxBlocks.k.quads("nextRegister", 256), p.base, p.base)
}

func (p *philoxSource) skip(groups int) {
	p.philoxBlocks.k.VPADDQ(p.groups(groups), p.counter, p.counter)
}

// groups returns the operand with the distance of the counters of n groups.
func (p *philoxSource) groups(n int) operand.Mem {
	return p.philoxBlocks.k.quads(fmt.Sprintf("groups%d", n), uint32(16*n))
}

// batch returns the number of groups computed together. The processor looks ahead by less than a
// group, so several are better, but AVX2 has too few registers for more than one.
func (p *philoxSource) batch() int {
	if p.philoxBlocks.k.wide() {
		return 2
	}
	return 1
}

func (p *philoxSource) planes(group ...int) (planes []reg.VecVirtual) {
	k := p.k
	var counters []reg.VecVirtual
	for _, g := range group {
		even, odd := k.vec(), k.vec()
		if g == 0 {
			k.vmov(p.counter, even)
		} else {
			k.VPADDQ(p.groups(g), p.counter, even)
		}
		k.VPADDQ(k.quads("one", 1), even, odd)
		counters = append(counters, even, odd)
	}
	chain := p.blocks(counters...)
	for c := 0; c < len(chain); c += 2 {
		for w := range 4 {
			planes = append(planes, k.interleave(chain[c][w], chain[c+1][w], p.merge))
		}
	}
	return planes
}

// aesSource provides the random words of ARS.
type aesSource struct {
	*aesCipher
	start   reg.VecVirtual // counter of the first group for the current register
	counter reg.VecVirtual // counter of the next group
	pass    int
}

func newAESSource(k *kernel) source {
	c := k.aes()
	return &aesSource{aesCipher: c, start: c.base()}
}

func (a *aesSource) begin(pass int) {
	a.pass = pass
	a.counter = a.aesCipher.k.vec()
	a.aesCipher.k.vmov(a.start, a.counter)
}

func (a *aesSource) batch() int { return 1 }

func (a *aesSource) planes(group ...int) (planes []reg.VecVirtual) {
	for _, g := range group {
		at := a.counter
		if g > 0 {
			at = a.aesCipher.k.vec()
			a.aesCipher.k.VPADDQ(a.ahead(16*g), a.counter, at)
		}
		planes = append(planes, a.aesCipher.planes(at, a.pass)...)
	}
	return planes
}

func (a *aesSource) skip(groups int) { a.aesCipher.k.VPADDQ(a.ahead(16*groups), a.counter, a.counter) }

func (a *aesSource) next() { a.aesCipher.k.VPADDQ(a.ahead(256), a.start, a.start) }

package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// joint writes the heat-bath kernel for blocks of chains whose states are stored side by side. A
// register holds one site of sixteen blocks, or of eight with AVX2.
func joint(b *builder) {
	for _, terms := range []int{5, 8} {
		b.each(fmt.Sprintf("jointHeat%d", terms), func(k *kernel) { jointHeat(k, terms, newJointPhilox) })
		b.each(fmt.Sprintf("jointHeatARS%d", terms), func(k *kernel) { jointHeat(k, terms, newJointAES) })
	}
}

// Indices of rows of jointASM.
const (
	jointAES   = 64 * 8
	jointMask  = jointAES + 64*4
	jointMoved = jointMask + 64
	jointCount = jointMoved + 64
	jointDraw  = jointCount + 3*64
)

func jointHeat(k *kernel, terms int, from func(k *kernel, j, off reg.GPVirtual) source) {
	own, to, near := k.param("own"), k.param("to"), k.param("near")
	n, stride, degree := k.param("n"), k.param("stride"), k.param("degree")
	j, off := k.param("j"), k.param("ahead")
	row := func(disp int) operand.Mem { return operand.Mem{Base: j, Disp: disp} }
	h := &heat{k: k, source: from(k, j, off), terms: terms, digits: k.param("digits"), stride: 64}
	k.Label("site")
	k.jointNear(own, near, stride, degree, row(jointCount))
	h.source.begin(0)
	h.half(row(jointDraw), [3]operand.Mem{row(jointCount), row(jointCount + 64), row(jointCount + 128)})
	v, x := k.vec(), k.vec()
	k.VMOVUPS(row(jointDraw), v)
	if k.wide() {
		k.VPXORQ(operand.Mem{Base: to}, v, x)
		k.VPANDQ(row(jointMask), x, x)
	} else {
		k.VPXOR(operand.Mem{Base: to}, v, x)
		k.VPAND(row(jointMask), x, x)
	}
	k.VMOVUPS(v, operand.Mem{Base: to})
	k.jointMoved(x, row(jointMoved))
	k.ADDQ(imm(64), to)
	k.ADDQ(imm(4), near)
	h.source.next()
	k.DECQ(n)
	k.JNZ(operand.LabelRef("site"))
}

// jointNear stores the binary digits of the numbers of neighbours in state 1.
func (k *kernel) jointNear(own, near, stride, degree reg.GPVirtual, count operand.Mem) {
	var c [3]reg.VecVirtual
	for d := range c {
		c[d] = k.vec()
		k.clear(c[d])
	}
	at, left, e := k.GP64(), k.GP64(), k.GP64()
	k.MOVQ(near, at)
	k.MOVQ(degree, left)
	k.TESTQ(left, left)
	k.JZ(operand.LabelRef("alone"))
	k.Label("neighbour")
	v, t := k.vec(), k.vec()
	k.VPBROADCASTD(operand.Mem{Base: at}, v)
	k.VPSRAD(operand.U8(31), v, v)
	k.MOVL(operand.Mem{Base: at}, e.As32())
	k.SHLQ(operand.U8(33), e) // drops the sign bit and multiplies by 64 bytes
	k.SHRQ(operand.U8(27), e)
	from := operand.Mem{Base: own, Index: e, Scale: 1}
	if k.wide() {
		k.VPXORQ(from, v, v)
		k.VPANDQ(v, c[0], t)
		k.VPXORQ(v, c[0], c[0])
		k.VPANDQ(t, c[1], v)
		k.VPXORQ(t, c[1], c[1])
		k.VPXORQ(v, c[2], c[2])
	} else {
		k.VPXOR(from, v, v)
		k.VPAND(v, c[0], t)
		k.VPXOR(v, c[0], c[0])
		k.VPAND(t, c[1], v)
		k.VPXOR(t, c[1], c[1])
		k.VPXOR(v, c[2], c[2])
	}
	k.ADDQ(stride, at)
	k.DECQ(left)
	k.JNZ(operand.LabelRef("neighbour"))
	k.Label("alone")
	for d := range c {
		k.VMOVUPS(c[d], count.Offset(64*d))
	}
}

// jointMoved adds the number of bits in each lane of x, which it overwrites, to moved.
func (k *kernel) jointMoved(x reg.VecVirtual, moved operand.Mem) {
	full := func(name string, words ...uint32) reg.VecVirtual {
		var all []uint32
		for range 16 / len(words) {
			all = append(all, words...)
		}
		r := k.vec()
		k.VMOVUPS(k.table(name, all...), r)
		return r
	}
	n := k.byteBits(x, full("low", 0x0f0f0f0f), full("bits1", 0x02010100, 0x03020201, 0x03020201, 0x04030302))
	k.VPMADDUBSW(full("bytes", 0x01010101), n, n)
	k.VPMADDWD(full("halves", 0x00010001), n, n)
	k.VPADDD(moved, n, n)
	k.VMOVUPS(n, moved)
}

// jointSteps advances the random counters from site to site. After sixteen sites it skips the
// counters of the other digits.
type jointSteps struct {
	k   *kernel
	j   reg.GPVirtual  // address of the rows of jointASM
	off reg.GPVirtual  // counter of the site, relative to that of its block
	at  reg.VecVirtual // counter of the next group, in every 64-bit lane
}

func (s *jointSteps) begin(int) { s.at = s.k.splat64(s.off) }

func (s *jointSteps) skip(groups int) { s.k.VPADDQ(s.ahead(groups), s.at, s.at) }

func (s *jointSteps) ahead(groups int) operand.Mem {
	return s.k.quads(fmt.Sprintf("groups%d", groups), uint32(16*groups))
}

func (s *jointSteps) next() {
	k, same := s.k, s.k.label("same")
	k.INCQ(s.off)
	k.TESTQ(operand.U32(15), s.off)
	k.JNZ(operand.LabelRef(same))
	k.ADDQ(imm(15*16), s.off)
	k.Label(same)
}

// group returns the counters of group g in the lanes of the given row.
func (s *jointSteps) group(row, g int) reg.VecVirtual {
	r := s.k.vec()
	s.k.VPADDQ(operand.Mem{Base: s.j, Disp: row}, s.at, r)
	if g > 0 {
		s.k.VPADDQ(s.ahead(g), r, r)
	}
	return r
}

// jointPhilox computes Philox at the counters and streams of blocks.
type jointPhilox struct {
	jointSteps
	mul0, mul1 operand.Op
	keys       reg.GPVirtual
	merge      reg.OpmaskVirtual
}

func newJointPhilox(k *kernel, j, off reg.GPVirtual) source {
	p := &jointPhilox{jointSteps: jointSteps{k: k, j: j, off: off}, keys: k.param("keys"), merge: k.oddLanes()}
	if k.wide() {
		p.mul0, p.mul1 = k.constant64(0xD2511F53), k.constant64(0xCD9E8D57)
	} else {
		p.mul0, p.mul1 = k.quads("mul0", 0xD2511F53), k.quads("mul1", 0xCD9E8D57)
	}
	return p
}

// batch returns the number of groups computed together: 2 with AVX-512 and 1 with AVX2.
func (p *jointPhilox) batch() int {
	if p.jointSteps.k.wide() {
		return 2
	}
	return 1
}

// planes returns the random words of the given groups. Registers alternate between even and odd
// blocks. The terms that the first two rounds add for the stream and the keys are in rows 2 … 7.
func (p *jointPhilox) planes(group ...int) (planes []reg.VecVirtual) {
	k := p.k
	xor := func(row int, r reg.VecVirtual) {
		m := operand.Mem{Base: p.j, Disp: 64 * row}
		if k.wide() {
			k.VPXORQ(m, r, r)
		} else {
			k.VPXOR(m, r, r)
		}
	}
	var chain []state
	for _, g := range group {
		for odd := range 2 {
			low := p.group(64*odd, g)
			word0, high0, word2, t := k.vec(), k.vec(), k.vec(), k.vec()
			k.VMOVSHDUP(low, word0)
			xor(2+odd, word0)
			k.VPMULUDQ(p.mul0, word0, word0)
			k.VMOVSHDUP(word0, high0)
			k.VPMULUDQ(p.mul0, low, low)
			k.VMOVSHDUP(low, word2)
			xor(4+odd, word2)
			k.VPMULUDQ(p.mul1, word2, word2)
			k.VMOVSHDUP(word2, t)
			xor(6+odd, t)
			k.xorKey(low, high0, operand.Mem{Base: p.keys, Disp: 12})
			chain = append(chain, state{t, word2, low, word0})
		}
	}
	k.rounds(chain, p.mul0, p.mul1, p.keys)
	for c := 0; c < len(chain); c += 2 {
		for w := range 4 {
			planes = append(planes, k.interleave(chain[c][w], chain[c+1][w], p.merge))
		}
	}
	return planes
}

// jointAESSource computes ARS at the counters and streams of blocks.
type jointAESSource struct {
	jointSteps
	cipher *aesCipher
}

func newJointAES(k *kernel, j, off reg.GPVirtual) source {
	return &jointAESSource{jointSteps: jointSteps{k: k, j: j, off: off}, cipher: k.aes()}
}

func (a *jointAESSource) batch() int { return 1 }

// begin sets only the counters; streams do not change.
func (a *jointAESSource) begin(int) {
	k := a.k
	x := k.XMM()
	k.MOVQ(a.off, x) // the upper half is 0
	a.at = k.vec()
	if k.wide() {
		k.VSHUFI32X4(operand.U8(0), x.AsZ(), x.AsZ(), a.at)
	} else {
		k.VPERMQ(operand.U8(0x44), x.AsY(), a.at)
	}
}

func (a *jointAESSource) skip(groups int) {
	a.jointSteps.k.VPADDQ(a.cipher.ahead(16*groups), a.at, a.at)
}

func (a *jointAESSource) planes(group ...int) (planes []reg.VecVirtual) {
	k := a.k
	for _, g := range group {
		var z []reg.VecVirtual
		for q := range 4 {
			r := k.vec()
			k.VPADDQ(operand.Mem{Base: a.j, Disp: jointAES + 64*q}, a.at, r)
			if g > 0 {
				k.VPADDQ(a.cipher.ahead(16*g), r, r)
			}
			if k.wide() {
				k.VPXORQ(a.cipher.round[0], r, r)
			} else {
				k.VPXOR(a.cipher.first, r, r)
			}
			z = append(z, r)
		}
		planes = append(planes, a.cipher.blocks(z)...)
	}
	return planes
}

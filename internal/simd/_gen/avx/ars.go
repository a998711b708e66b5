package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ars writes the kernel of the ARS generator, which uses AES instructions: on 128 bits with AVX2
// and on 512 bits with AVX-512.
func ars(b *builder) {
	b.each("ars", func(k *kernel) {
		dst, groups := k.param("dst"), k.param("groups")
		c := k.aes()
		base := c.base()
		k.Label("group")
		for pass := 0; pass < 16/k.w; pass++ {
			for w, r := range c.planes(base, pass) {
				k.VMOVUPS(r, operand.Mem{Base: dst, Disp: 64*w + 32*pass})
			}
		}
		k.VPADDQ(c.ahead(16), base, base)
		k.ADDQ(imm(256), dst)
		k.DECQ(groups)
		k.JNZ(operand.LabelRef("group"))
	})
}

// aesRounds is the number of rounds of ARS4x32-7.
const aesRounds = 7

// aesCipher encrypts counters. A register of 512 bits holds four counters, and one of 128 bits
// holds a single one.
type aesCipher struct {
	k     *kernel
	keys  reg.GPVirtual
	round []operand.Op   // key of each round
	first reg.VecVirtual // key of round 0 in both halves of a register, with AVX2
	// Offsets from the counter of a group: those of lanes 4q + j are at 64j + 16q.
	steps operand.Mem
}

// aes returns a cipher with the keys in the parameter keys.
func (k *kernel) aes() *aesCipher {
	c := &aesCipher{k: k, keys: k.param("keys")}
	for r := range aesRounds + 1 {
		m := operand.Mem{Base: c.keys, Disp: 16 * r}
		if !k.wide() {
			c.round = append(c.round, m)
			continue
		}
		z := k.ZMM()
		k.VBROADCASTI32X4(m, z)
		c.round = append(c.round, z)
	}
	if !k.wide() {
		c.first = k.YMM()
		k.VBROADCASTI128(operand.Mem{Base: c.keys}, c.first)
	}
	var words []uint32
	for j := range 4 {
		for q := range 4 {
			words = append(words, uint32(4*q+j), 0, 0, 0)
		}
	}
	c.steps = k.table("steps", words...)
	return c
}

// base returns a register with a block in every 128-bit part, made of the parameters counter and
// stream.
func (c *aesCipher) base() reg.VecVirtual {
	k := c.k
	counter, stream := k.XMM(), k.XMM()
	k.VMOVQ(k.param("counter"), counter)
	k.VMOVQ(k.param("stream"), stream)
	k.VPUNPCKLQDQ(stream, counter, counter)
	r := k.vec()
	if k.wide() {
		k.VSHUFI32X4(operand.U8(0), counter.AsZ(), counter.AsZ(), r)
	} else {
		k.VPERMQ(operand.U8(0x44), counter.AsY(), r)
	}
	return r
}

// ahead returns the operand to add to counters to advance them by n.
func (c *aesCipher) ahead(n int) operand.Mem {
	var words []uint32
	for range 4 {
		words = append(words, uint32(n), 0, 0, 0)
	}
	return c.k.table(fmt.Sprintf("ahead%d", n), words...)
}

// planes returns words 16w … 16w+15 of the group at base, for w = 0, …, 3. With AVX2 it returns the
// first eight of these in pass 0 and the others in pass 1.
func (c *aesCipher) planes(base reg.VecVirtual, pass int) []reg.VecVirtual {
	k := c.k
	// Counters of groups are multiples of 16, so adding a lane number causes no carry. It can
	// therefore be added last, after the key.
	keyed := k.vec()
	if k.wide() {
		k.VPXORQ(c.round[0], base, keyed)
	} else {
		k.VPXOR(c.first, base, keyed)
	}
	var z []reg.VecVirtual
	for j := range 4 {
		r := k.vec()
		z = append(z, r)
		if k.wide() {
			k.VPXORQ(c.steps.Offset(64*j), keyed, r)
		} else {
			k.VPXOR(c.steps.Offset(64*j+32*pass), keyed, r)
		}
	}
	return c.blocks(z)
}

// blocks encrypts four registers of counters, to which the first key has been added. It returns
// words 0, …, 3 of all blocks. The words of counter j in part q of the registers are in lane 4q +
// j.
func (c *aesCipher) blocks(z []reg.VecVirtual) []reg.VecVirtual {
	k := c.k
	var block []reg.VecVirtual // what is encrypted: with AVX2 the lower halves of z and others
	for _, r := range z {
		block = append(block, r)
		if !k.wide() {
			high := k.XMM()
			k.VEXTRACTI128(operand.U8(1), r, high)
			block = append(block, high)
		}
	}
	for round := 1; round <= aesRounds; round++ {
		for _, r := range block {
			c.encrypt(c.round[round], r, round == aesRounds)
		}
	}
	for j := 0; j < len(z) && !k.wide(); j++ {
		k.VINSERTI128(operand.U8(1), block[2*j+1], z[j], z[j])
	}
	return k.transpose(z)
}

// encrypt applies one round of AES with the given key to r.
func (c *aesCipher) encrypt(key operand.Op, r reg.VecVirtual, last bool) {
	switch {
	case c.k.wide():
		name := "VAESENC"
		if last {
			name = "VAESENCLAST"
		}
		c.k.Instruction(&ir.Instruction{ // avo has this instruction only for 128 bits
			Opcode: name, Operands: []operand.Op{key, r, r}, Inputs: []operand.Op{key, r}, Outputs: []operand.Op{r},
			ISA: []string{"VAES", "AVX512F"},
		})
	case last:
		c.k.VAESENCLAST(key, r.AsX(), r.AsX())
	default:
		c.k.VAESENC(key, r.AsX(), r.AsX())
	}
}

// transpose collects equal words of the blocks in four registers: word w of register j in a part of
// 128 bits becomes word j of that part in register w.
func (k *kernel) transpose(z []reg.VecVirtual) []reg.VecVirtual {
	low01, low23, high01, high23 := k.vec(), k.vec(), k.vec(), k.vec()
	k.VPUNPCKLDQ(z[1], z[0], low01)
	k.VPUNPCKLDQ(z[3], z[2], low23)
	k.VPUNPCKHDQ(z[1], z[0], high01)
	k.VPUNPCKHDQ(z[3], z[2], high23)
	k.VPUNPCKLQDQ(low23, low01, z[0])
	k.VPUNPCKHQDQ(low23, low01, z[1])
	k.VPUNPCKLQDQ(high23, high01, z[2])
	k.VPUNPCKHQDQ(high23, high01, z[3])
	return z
}

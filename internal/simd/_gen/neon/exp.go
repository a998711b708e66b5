package neon

import "math"

// expConsts holds the registers with the constants of exp32.
type expConsts struct {
	log2e, magic, hi, lo, c0, c1, c2, c3, one, cut v
}

func (k *function) expConsts() expConsts {
	c := k.constants("exp", bits(1.44269504088896340736), bits(0x1.8p23+127),
		bits(0x1.62e4p-1), bits(0x1.7f7d1cp-20),
		bits(0x1.fffdfcp-02), bits(0x1.5557aep-03), bits(0x1.5729fp-05), bits(0x1.106284p-07),
		bits(1), bits(-87.3))
	return expConsts{c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9]}
}

// expRegisters is the number of registers in a quad that exp uses.
const expRegisters = 5

// exp replaces the first register x of every quad by exp32 of it. The argument is clamped at the
// cut-off, so that no step computes with a denormal number. The one product that is fused is exact.
func (k *function) exp(c expConsts, quads [][]v) {
	const x, t, r, q, s, fixed = 0, 1, 2, 3, 4, -1
	do := func(name string, d, n, m int, constant ...v) {
		for _, quad := range quads {
			if m == fixed {
				k.op(name, quad[d], quad[n], constant[0])
			} else {
				k.op(name, quad[d], quad[n], quad[m])
			}
		}
	}
	do("fmax.4s", r, x, fixed, c.cut)
	do("fmul.4s", t, r, fixed, c.log2e)
	do("fadd.4s", t, t, fixed, c.magic)
	do("fsub.4s", q, t, fixed, c.magic)
	do("fmls.4s", r, q, fixed, c.hi)
	do("fmul.4s", q, q, fixed, c.lo)
	do("fsub.4s", r, r, q)
	do("fmul.4s", q, r, fixed, c.c3)
	do("fadd.4s", q, q, fixed, c.c2)
	do("fmul.4s", s, r, r)
	do("fmul.4s", q, q, r)
	do("fadd.4s", q, q, fixed, c.c1)
	do("fmul.4s", q, q, r)
	do("fadd.4s", q, q, fixed, c.c0)
	do("fmul.4s", q, s, q)
	do("fadd.4s", q, q, r)
	do("fadd.4s", q, q, fixed, c.one)
	for _, quad := range quads {
		k.shift("shl.4s", quad[t], quad[t], 23)
	}
	for _, quad := range quads {
		k.op("fcmgt.4s", quad[r], c.cut, quad[x])
	}
	do("fmul.4s", q, q, t)
	do("bic", x, q, r)
}

var negativeInf = bits(math.Inf(-1))

package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold writes the kernels for sums of scaled rows. The sums of a strip of columns stay in registers
// during the loop over the terms.
func fold(b *builder) {
	for rows := 1; rows <= 4; rows++ {
		b.each(fmt.Sprintf("fold%d", rows), func(k *kernel) {
			t := newTerms(k)
			stride, next := k.param("stride"), k.param("next")
			k.SHLQ(operand.U8(3), stride)
			k.SHLQ(operand.U8(3), next)
			for len(t.coef) < rows {
				c := k.GP64()
				k.MOVQ(t.coef[len(t.coef)-1], c)
				k.ADDQ(next, c)
				t.coef = append(t.coef, c)
			}
			// Numbers of registers per strip: sums, operands and a product must fit.
			strips := map[bool][][]int{true: {{8, 4, 2}, {4, 2}, {4, 2}, {4, 2}}, false: {{8, 4}, {4}, {2}, {2}}}[k.wide()][rows-1]
			for _, regs := range strips {
				t.strip(regs, stride, func(sum reg.VecVirtual, v operand.Op, c reg.VecVirtual) {
					p := k.vec()
					k.VMULPD(v, c, p)
					k.VADDPD(p, sum, sum)
				})
			}
		})
	}
	for rows := 1; rows <= 2; rows++ {
		dots(b, rows)
	}
	b.each("foldMax", func(k *kernel) {
		t := newTerms(k)
		for _, regs := range map[bool][]int{true: {8, 2}, false: {8, 4}}[k.wide()] {
			t.strip(regs, nil, func(sum reg.VecVirtual, v operand.Op, c reg.VecVirtual) {
				p := k.vec()
				k.VADDPD(v, c, p)
				k.VMAXPD(sum, p, sum) // the sum where they are equal
			})
		}
	})
	b.each("raise", func(k *kernel) {
		v, n, i, low := k.param("v"), k.param("n"), k.GP64(), k.GP64()
		by, floor, zero, bits := k.vec(), k.vec(), k.vec(), k.vec()
		k.broadcast("by", by)
		k.broadcast("floor", floor)
		k.VXORPD(zero, zero, zero)
		k.VXORPD(bits, bits, bits)
		k.XORQ(i, i)
		k.Label("loop")
		for j := range 32 / k.w {
			x, cut := k.vec(), k.vec()
			m := operand.Mem{Base: v, Index: i, Scale: 8, Disp: 4 * k.w * j}
			k.VMULPD(m, by, x)
			// The condition 0 < x < floor, which is false for NaN and raises no exception.
			if k.wide() {
				below, positive := k.K(), k.K()
				k.VCMPPD(operand.U8(17), floor, x, below)
				k.VCMPPD(operand.U8(30), zero, x, positive)
				k.KANDW(below, positive, below)
				k.VXORPD(cut, cut, cut)
				k.VMOVAPD(floor, below, cut)
				k.VMOVAPD(floor, below, x)
			} else {
				below, positive := k.vec(), k.vec()
				k.VCMPPD(operand.U8(17), floor, x, below)
				k.VCMPPD(operand.U8(30), zero, x, positive)
				k.VANDPD(positive, below, below)
				k.VANDPD(floor, below, cut)
				k.VANDNPD(x, below, x)
				k.VORPD(cut, x, x)
			}
			k.VORPD(cut, bits, bits)
			k.VMOVUPD(x, m)
		}
		k.ADDQ(operand.U8(16), i)
		k.CMPQ(i, n)
		k.JL(operand.LabelRef("loop"))
		half := k.half()
		if k.wide() {
			k.VEXTRACTF64X4(operand.U8(1), bits, half)
			k.VORPD(half, bits.AsY(), half)
		} else {
			k.VEXTRACTF128(operand.U8(1), bits, half)
			k.VORPD(half, bits.AsX(), half)
		}
		quarter := half.AsX()
		if k.wide() {
			q := k.XMM()
			k.VEXTRACTF128(operand.U8(1), half, q)
			k.VORPD(q, half.AsX(), q)
			quarter = q.AsX()
		}
		one := k.XMM()
		k.VUNPCKHPD(quarter, quarter, one)
		k.VORPD(quarter, one, one)
		k.MOVQ(one, low)
		k.Store(low, k.ReturnIndex(0))
	})
}

// terms holds the parameters of a sum over pieces of m that begin at at[i].
type terms struct {
	k                                 *kernel
	dst, m, at, count, n, col, i, row reg.GPVirtual
	coef                              []reg.GPVirtual
	strips                            int
}

func newTerms(k *kernel) *terms {
	t := &terms{k: k, dst: k.param("dst"), m: k.param("m"), at: k.param("at"), count: k.param("count"),
		n: k.param("n"), col: k.GP64(), i: k.GP64(), row: k.GP64(), coef: []reg.GPVirtual{k.param("coef")}}
	k.XORQ(t.col, t.col)
	return t
}

// strip processes strips of regs registers of columns as long as that many are left.
func (t *terms) strip(regs int, stride reg.GPVirtual, add func(sum reg.VecVirtual, v operand.Op, c reg.VecVirtual)) {
	t.strips++
	name := func(s string) string { return fmt.Sprintf("%s%d", s, t.strips) }
	width := regs * t.k.w / 2
	sums := make([][]reg.VecVirtual, len(t.coef))
	for r := range sums {
		for range regs {
			sums[r] = append(sums[r], t.k.vec())
		}
	}
	each := func(do func(m operand.Mem, sum reg.VecVirtual)) {
		t.k.MOVQ(t.dst, t.row)
		for r := range sums {
			if r > 0 {
				t.k.ADDQ(stride, t.row)
			}
			for j, s := range sums[r] {
				do(operand.Mem{Base: t.row, Index: t.col, Scale: 8, Disp: 4 * t.k.w * j}, s)
			}
		}
	}
	end := t.k.GP64()
	t.k.Label(name("strip"))
	t.k.MOVQ(t.n, end)
	t.k.SUBQ(t.col, end)
	t.k.CMPQ(end, imm(width))
	t.k.JL(operand.LabelRef(name("done")))
	each(func(m operand.Mem, s reg.VecVirtual) { t.k.VMOVUPD(m, s) })
	t.k.XORQ(t.i, t.i)
	t.k.Label(name("term"))
	t.k.MOVLQSX(operand.Mem{Base: t.at, Index: t.i, Scale: 4}, t.row)
	t.k.ADDQ(t.col, t.row)
	v := make([]operand.Op, regs)
	for j := range v {
		v[j] = operand.Mem{Base: t.m, Index: t.row, Scale: 8, Disp: 4 * t.k.w * j}
		if len(sums) > 1 {
			r := t.k.vec()
			t.k.VMOVUPD(v[j], r)
			v[j] = r
		}
	}
	for r := range sums {
		c := t.k.vec()
		t.k.VBROADCASTSD(operand.Mem{Base: t.coef[r], Index: t.i, Scale: 8}, c)
		for j, s := range sums[r] {
			add(s, v[j], c)
		}
	}
	t.k.INCQ(t.i)
	t.k.CMPQ(t.i, t.count)
	t.k.JL(operand.LabelRef(name("term")))
	each(func(m operand.Mem, s reg.VecVirtual) { t.k.VMOVUPD(s, m) })
	t.k.ADDQ(imm(width), t.col)
	t.k.JMP(operand.LabelRef(name("strip")))
	t.k.Label(name("done"))
}

// broadcast copies a float64 parameter to every lane of r.
func (k *kernel) broadcast(name string, r reg.VecVirtual) {
	p, err := k.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	k.VBROADCASTSD(p.Addr, r)
}

// dots writes the kernel for inner products of rows of x with pieces of m, in 16 lanes each.
func dots(b *builder, rows int) {
	b.each(fmt.Sprintf("dots%d", rows), func(k *kernel) {
		dst, m, at, x := k.param("dst"), k.param("m"), k.param("at"), k.param("x")
		next, count, n := k.param("next"), k.param("count"), k.param("n")
		second := k.GP64()
		k.MOVQ(n, second)
		k.SHLQ(operand.U8(3), second)
		k.ADDQ(x, second)
		bases := []reg.GPVirtual{x, second}[:rows]
		i, row, j := k.GP64(), k.GP64(), k.GP64()
		k.XORQ(i, i)
		sums := make([][]reg.VecVirtual, rows)
		for r := range sums {
			for range 32 / k.w {
				sums[r] = append(sums[r], k.vec())
			}
		}
		k.Label("piece")
		k.MOVLQSX(operand.Mem{Base: at, Index: i, Scale: 4}, row)
		k.SHLQ(operand.U8(3), row)
		k.ADDQ(m, row)
		for r := range sums {
			for _, s := range sums[r] {
				k.VXORPD(s, s, s)
			}
		}
		k.XORQ(j, j)
		k.Label("columns")
		for l := range 32 / k.w {
			v := k.vec()
			k.VMOVUPD(operand.Mem{Base: row, Index: j, Scale: 8, Disp: 4 * k.w * l}, v)
			for r := range sums {
				p := k.vec()
				k.VMULPD(operand.Mem{Base: bases[r], Index: j, Scale: 8, Disp: 4 * k.w * l}, v, p)
				k.VADDPD(p, sums[r][l], sums[r][l])
			}
		}
		k.ADDQ(operand.U8(16), j)
		k.CMPQ(j, n)
		k.JL(operand.LabelRef("columns"))
		to := k.GP64()
		k.MOVQ(dst, to)
		for r := range sums {
			one := k.halve(sums[r])
			sum := operand.Mem{Base: to, Index: i, Scale: 8}
			k.VADDSD(sum, one, one)
			k.VMOVSD(one, sum)
			if r+1 < rows {
				step := k.GP64()
				k.MOVQ(next, step)
				k.SHLQ(operand.U8(3), step)
				k.ADDQ(step, to)
			}
		}
		k.INCQ(i)
		k.CMPQ(i, count)
		k.JL(operand.LabelRef("piece"))
	})
}

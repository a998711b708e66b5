package avx

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func linear(b *builder) {
	b.each("axpy", func(k *kernel) {
		x, y, n := k.param("x"), k.param("y"), k.param("n")
		alpha := k.splat("alpha")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			p := k.mul(k.load(at(x, i, 0), sel), alpha)
			k.store(k.add(p, k.load(at(y, i, 0), sel)), at(y, i, 0), sel)
		})
	})
	b.each("scale", func(k *kernel) {
		x, n := k.param("x"), k.param("n")
		alpha := k.splat("alpha")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			k.store(k.mul(k.load(at(x, i, 0), sel), alpha), at(x, i, 0), sel)
		})
	})
	b.each("dot", func(k *kernel) {
		lane, x, y, n := k.param("lane"), k.param("x"), k.param("y"), k.param("n")
		acc := make([]reg.VecVirtual, 16/k.w)
		for j := range acc {
			acc[j] = k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
		k.sixteen(x, n, func(i reg.GPVirtual, j int, sel *mask) {
			p := k.mul(k.load(at(x, i, 4*k.w*j), sel), k.load(at(y, i, 4*k.w*j), sel))
			k.VADDPS(p, acc[j], acc[j])
		})
		for j := range acc {
			k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
	})
	b.each("sum", func(k *kernel) {
		lane, x, n := k.param("lane"), k.param("x"), k.param("n")
		acc := make([]reg.VecVirtual, 32/k.w)
		for j := range acc {
			acc[j] = k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
		k.sixteen(x, n, func(i reg.GPVirtual, j int, sel *mask) {
			if sel == nil {
				k.addFrom(at(x, i, 4*k.w*j), acc[2*j], acc[2*j+1])
			} else {
				k.addWide(k.load(at(x, i, 4*k.w*j), sel), acc[2*j], acc[2*j+1])
			}
		})
		for j := range acc {
			k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
		}
	})
}

// sixteen runs term over n terms in turns of 16 lanes. Part j of a turn is its j-th register.
// Absent lanes of the last turn are loaded as 0.
func (k *kernel) sixteen(base, n reg.GPVirtual, term func(i reg.GPVirtual, j int, sel *mask)) {
	i, full := k.GP64(), k.GP64()
	loop, rest := k.label("loop"), k.label("rest")
	k.XORQ(i, i)
	k.MOVQ(n, full)
	k.ANDQ(operand.I8(-16), full)
	k.JZ(operand.LabelRef(rest))
	k.Label(loop)
	for j := range 16 / k.w {
		term(i, j, nil)
	}
	k.ADDQ(imm(16), i)
	k.CMPQ(i, full)
	k.JL(operand.LabelRef(loop))
	k.Label(rest)
	k.tail(base, i, n, func(j int, _ operand.Mem, sel *mask) { term(i, j, sel) })
}

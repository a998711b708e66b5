package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func linear(b *builder) {
	b.each("axpy", "func(alpha float32, x, y *float32, n int)", "is refAxpy.", func(k *kernel) {
		x, y, n := k.param("x"), k.param("y"), k.param("n")
		alpha := k.splat("alpha")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			p := k.mul(k.load(at(x, i, 0), sel), alpha)
			k.store(k.add(p, k.load(at(y, i, 0), sel)), at(y, i, 0), sel)
		})
	})
	b.each("scale", "func(alpha float32, x *float32, n int)", "is refScale.", func(k *kernel) {
		x, n := k.param("x"), k.param("n")
		alpha := k.splat("alpha")
		k.stream(n, func(i reg.GPVirtual, sel *mask) {
			k.store(k.mul(k.load(at(x, i, 0), sel), alpha), at(x, i, 0), sel)
		})
	})
	b.each("dot", "func(lane *[16]float32, x, y *float32, n int)",
		"adds the products of n = 16k terms to the lanes.", func(k *kernel) {
			lane, x, y, n := k.param("lane"), k.param("x"), k.param("y"), k.param("n")
			acc := make([]reg.VecVirtual, 16/k.w)
			for j := range acc {
				acc[j] = k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
			i := k.GP64()
			k.XORQ(i, i)
			k.Label("loop")
			for j := range acc {
				p := k.load(at(x, i, 4*k.w*j), nil)
				k.VMULPS(at(y, i, 4*k.w*j), p, p)
				k.VADDPS(p, acc[j], acc[j])
			}
			k.ADDQ(imm(16), i)
			k.CMPQ(i, n)
			k.JL(operand.LabelRef("loop"))
			for j := range acc {
				k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
		})
	b.each("sum", "func(lane *[16]float64, x *float32, n int)",
		"adds n = 16k terms to the lanes.", func(k *kernel) {
			lane, x, n := k.param("lane"), k.param("x"), k.param("n")
			acc := make([]reg.VecVirtual, 32/k.w)
			for j := range acc {
				acc[j] = k.load(operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
			i := k.GP64()
			k.XORQ(i, i)
			k.Label("loop")
			for j := range acc {
				p := k.vec()
				k.VCVTPS2PD(at(x, i, 2*k.w*j), p)
				k.VADDPD(p, acc[j], acc[j])
			}
			k.ADDQ(imm(16), i)
			k.CMPQ(i, n)
			k.JL(operand.LabelRef("loop"))
			for j := range acc {
				k.store(acc[j], operand.Mem{Base: lane, Disp: 4 * k.w * j}, nil)
			}
		})
}

package neon

import "math"

func flip(f *file) {
	f.function("flipThresholds", flipThresholds)
	f.function("flipDraw", func(k *function) { flipSums(k, true) })
	f.function("flipScore", func(k *function) { flipSums(k, false) })
	f.function("sigmoid", func(k *function) {
		dst, src, n := k.param("dst"), k.param("src"), k.param("n")
		c := k.expConsts()
		quads := [][]v{k.vs(1 + expRegisters), k.vs(1 + expRegisters)}
		k.stream(n, []x{src}, dst, quads, func(quads [][]v) { k.sigmoid(c, quads) })
	})
}

// sigmoid replaces the first register of every quad by sigmoid32 of it.
func (k *function) sigmoid(c expConsts, quads [][]v) {
	var rest [][]v
	for _, q := range quads {
		k.copy(q[1], q[0])
		k.negative(q[1])
		rest = append(rest, q[1:])
	}
	k.exp(c, rest)
	k.each(quads, "cmlt.4s", func(q []v) []v { return []v{q[0], q[0]} })
	k.each(quads, "fadd.4s", func(q []v) []v { return []v{q[2], q[1], c.one} })
	k.each(quads, "bsl", func(q []v) []v { return []v{q[0], q[1], c.one} })
	k.each(quads, "fdiv.4s", func(q []v) []v { return []v{q[0], q[0], q[2]} })
}

func flipThresholds(k *function) {
	t, h, xs, cs := k.param("t"), k.param("h"), k.param("x"), k.param("c")
	n, step := k.param("n"), k.param("step")
	beta := k.splat("beta")
	e := k.expConsts()
	c := k.constants("flip", bits(0x1p31), bits(1<<31-128), 1, bits(-math.MaxFloat32))
	scale, top, least, lowest := c[0], c[1], c[2], c[3]
	all := k.v()
	// H or the logit, then x, c and the registers of the exponential.
	quads := [][]v{k.vs(7), k.vs(7)}
	thresholds := func(quads [][]v, site func(q []v) v) {
		for _, q := range quads {
			k.shift("shl.4s", q[1], q[1], 31)
		}
		k.each(quads, "eor", func(q []v) []v { return []v{q[0], q[0], q[1]} })
		k.each(quads, "fmul.4s", func(q []v) []v { return []v{q[0], q[0], beta} })
		k.each(quads, "fsub.4s", func(q []v) []v { return []v{q[0], q[0], site(q)} })
		var rest [][]v
		for _, q := range quads {
			k.copy(q[1], q[0])
			rest = append(rest, q[1:])
		}
		k.sigmoid(e, rest)
		k.each(quads, "fmul.4s", func(q []v) []v { return []v{q[1], q[1], scale} })
		k.each(quads, "fmin.4s", func(q []v) []v { return []v{q[1], q[1], top} })
		k.each(quads, "fcvtzs.4s", func(q []v) []v { return []v{q[1], q[1]} })
		k.each(quads, "smax.4s", func(q []v) []v { return []v{q[1], q[1], least} })
		k.each(quads, "fcmge.4s", func(q []v) []v { return []v{q[2], q[0], lowest} })
		// All bits are set unless the entry is NaN.
		k.each(quads, "fcmeq.4s", func(q []v) []v { return []v{q[0], q[0], q[0]} })
		k.each(quads, "and", func(q []v) []v { return []v{q[1], q[1], q[2]} })
		k.each(quads, "orn", func(q []v) []v { return []v{q[0], q[1], q[0]} })
	}
	k.emit("CBNZ %v, sites", step)
	k.ld1r(all, cs)
	k.stream(n, []x{h, xs}, t, quads, func(quads [][]v) { thresholds(quads, func([]v) v { return all }) })
	k.emit("RET")
	k.at("sites")
	k.stream(n, []x{h, xs, cs}, t, quads, func(quads [][]v) { thresholds(quads, func(q []v) v { return q[2] }) })
}

// flipSums multiplies the factors in 16 lanes, eight registers of float64. Every 32 turns, and at
// the end, it moves the exponents to an integer register. Type flipSums of package simd describes
// the result.
func flipSums(k *function, draw bool) {
	out, y, xs, t, n := k.param("out"), k.param("y"), k.param("x"), k.param("t"), k.param("n")
	in := []x{xs, t, y}
	if draw {
		in[2] = k.param("bits")
	}
	c := k.constants("sums", 1, 1<<31, 1<<31-1, math.MaxUint32)
	// Top and pad fill unused lanes: threshold 2³¹−1 and bits of all ones give the factor 1.
	one, flipOne, top, pad := c[0], c[1], c[2], c[3]
	zero, sign, moved := k.v(), k.v(), k.v()
	oneF, mantissa, exps := k.v(), k.v(), k.v()
	acc := k.vs(8)
	run := k.x()
	k.emit("FMOVD $1.0, F%d", oneF)
	k.op("dup.d0", oneF, oneF)
	k.emit("MOVD $0xfffffffffffff, %v", run)
	k.dupX(mantissa, run)
	k.copy(sign, top)
	k.zero(zero)
	k.zero(moved)
	k.zero(exps)
	// Smallest factor of a score; it shares a register with moved, which scores do not count.
	smallest := moved
	if !draw {
		k.copy(smallest, one)
	}
	for _, a := range acc {
		k.copy(a, oneF)
	}
	quads := [][]v{k.vs(5), k.vs(5)}

	// factors multiplies acc by the factors of quads that hold x, t and the random bits or y. The
	// accumulators of the first quad begin at register acc[at]. The first register of each quad
	// becomes the drawn state.
	factors := func(quads [][]v, at int) {
		k.each(quads, "sub.4s", func(q []v) []v { return []v{q[3], flipOne, q[1]} })
		if draw {
			for _, q := range quads {
				k.shift("ushr.4s", q[2], q[2], 1)
			}
			k.each(quads, "cmgt.4s", func(q []v) []v { return []v{q[2], q[1], q[2]} })
			k.each(quads, "sub.4s", func(q []v) []v { return []v{q[4], one, q[0]} })
			k.each(quads, "bit", func(q []v) []v { return []v{q[3], q[1], q[2]} })
			k.each(quads, "bit", func(q []v) []v { return []v{q[0], q[4], q[2]} })
			k.each(quads, "sub.4s", func(q []v) []v { return []v{moved, moved, q[2]} })
		} else {
			k.each(quads, "cmeq.4s", func(q []v) []v { return []v{q[2], q[0], q[2]} })
			k.each(quads, "bif", func(q []v) []v { return []v{q[3], q[1], q[2]} })
			k.each(quads, "umin.4s", func(q []v) []v { return []v{smallest, smallest, q[3]} })
		}
		k.each(quads, "smin.4s", func(q []v) []v { return []v{sign, sign, q[1]} })
		k.each(quads, "uxtl", func(q []v) []v { return []v{q[4], q[3]} })
		k.each(quads, "uxtl2", func(q []v) []v { return []v{q[3], q[3]} })
		k.each(quads, "ucvtf.2d", func(q []v) []v { return []v{q[4], q[4]} })
		k.each(quads, "ucvtf.2d", func(q []v) []v { return []v{q[3], q[3]} })
		for j, q := range quads {
			k.op("fmul.2d", acc[at+2*j], acc[at+2*j], q[4])
			k.op("fmul.2d", acc[at+2*j+1], acc[at+2*j+1], q[3])
		}
	}
	e := quads[0][0]
	renorm := func() {
		for _, a := range acc {
			k.shift("ushr.2d", e, a, 52)
			k.op("add.2d", exps, exps, e)
			k.op("and", a, a, mantissa)
			k.op("orr", a, a, oneF)
		}
	}

	k.emit("MOVD $32, %v", run)
	k.at("loop")
	k.emit("SUBS $16, %v, %v", n, n)
	k.emit("BLT tail")
	for half := range 2 {
		for i, p := range in {
			k.ldpNext(quads[0][i], quads[1][i], p)
		}
		factors(quads, 4*half)
		if draw {
			k.stpNext(quads[0][0], quads[1][0], y)
		}
	}
	k.emit("SUBS $1, %v, %v", run, run)
	k.emit("BNE loop")
	renorm()
	k.emit("MOVD $32, %v", run)
	k.emit("B loop")
	k.at("tail")
	k.emit("ADD $16, %v, %v", n, n)
	for j := range 4 {
		part, next := k.label("part"), k.label("quad")
		k.emit("CBZ %v, end", n)
		k.emit("SUBS $4, %v, %v", n, n)
		k.emit("BLT %s", part)
		for i, p := range in {
			k.ldr(quads[0][i], p, 0)
			k.emit("ADD $16, %v, %v", p, p)
		}
		factors(quads[:1], 2*j)
		if draw {
			k.str(quads[0][0], y, 0)
			k.emit("ADD $16, %v, %v", y, y)
		}
		k.emit("B %s", next)
		k.at(part)
		k.emit("ADD $4, %v, %v", n, n)
		k.loadPart(quads[0][0], xs, n, zero)
		k.loadPart(quads[0][1], t, n, top)
		if draw {
			k.loadPart(quads[0][2], in[2], n, pad)
		} else {
			k.loadPart(quads[0][2], in[2], n, zero)
		}
		factors(quads[:1], 2*j)
		if draw {
			k.part(false, quads[0][0], y, n)
		}
		k.emit("B end")
		k.at(next)
	}
	k.at("end")
	renorm()

	// Combine the lanes by repeated halving.
	for by := 4; by > 0; by /= 2 {
		for j := range by {
			k.op("fmul.2d", acc[j], acc[j], acc[j+by])
		}
	}
	k.op("dup.d1", e, acc[0])
	k.emit("FMULD F%d, F%d, F%d", e, acc[0], acc[0])
	k.emit("FMOVD F%d, (%v)", acc[0], out)
	k.op("addp.d", exps, exps)
	k.emit("FMOVD F%d, 8(%v)", exps, out)
	k.op("sminv.s", sign, sign)
	k.emit("FMOVS F%d, 16(%v)", sign, out)
	if draw {
		k.op("addv.s", moved, moved)
		k.emit("FMOVS F%d, 32(%v)", moved, out)
	} else {
		k.op("uminv.s", smallest, smallest)
		k.emit("FMOVS F%d, 24(%v)", smallest, out)
	}
}

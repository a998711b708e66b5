package neon

// loadPart loads the first n of four words at p, 1 ≤ n ≤ 3. The other lanes are copied from pad.
func (k *function) loadPart(d v, p, n x, pad v) {
	k.copy(d, pad)
	k.part(true, d, p, n)
}

// part loads or stores the first n words of a register, 1 ≤ n ≤ 3.
func (k *function) part(load bool, d v, p, n x) {
	one, done := k.label("one"), k.label("done")
	k.emit("TBZ $1, %v, %s", n, one)
	k.lane(load, 'd', d, 0, p)
	k.emit("TBZ $0, %v, %s", n, done)
	q := k.x()
	k.emit("ADD $8, %v, %v", p, q)
	k.lane(load, 's', d, 2, q)
	k.next = q
	k.emit("B %s", done)
	k.at(one)
	k.lane(load, 's', d, 0, p)
	k.at(done)
}

// stream runs body over n elements: as many registers at a time as there are quads, and then one
// register at a time. The first registers of a quad hold the elements read from in. body leaves the
// result in the first register, which is stored to out. Absent elements are 0. It destroys the
// pointers and n.
func (k *function) stream(n x, in []x, out x, quads [][]v, body func(quads [][]v)) {
	step := 4 * len(quads)
	loop, rest, quad, part, done := k.label("loop"), k.label("rest"), k.label("quad"), k.label("part"), k.label("end")
	k.emit("SUBS $%d, %v, %v", step, n, n)
	k.emit("BLT %s", rest)
	k.at(loop)
	for j, p := range in {
		for i := 0; i < len(quads); i += 2 {
			k.ldpNext(quads[i][j], quads[i+1][j], p)
		}
	}
	body(quads)
	for i := 0; i < len(quads); i += 2 {
		k.stpNext(quads[i][0], quads[i+1][0], out)
	}
	k.emit("SUBS $%d, %v, %v", step, n, n)
	k.emit("BGE %s", loop)
	k.at(rest)
	k.emit("ADD $%d, %v, %v", step, n, n)
	k.at(quad)
	k.emit("SUBS $4, %v, %v", n, n)
	k.emit("BLT %s", part)
	for j, p := range in {
		k.ldr(quads[0][j], p, 0)
		k.emit("ADD $16, %v, %v", p, p)
	}
	body(quads[:1])
	k.str(quads[0][0], out, 0)
	k.emit("ADD $16, %v, %v", out, out)
	k.emit("B %s", quad)
	k.at(part)
	k.emit("ADDS $4, %v, %v", n, n)
	k.emit("BEQ %s", done)
	step4 := k.x()
	k.emit("LSL $2, %v, %v", n, step4)
	for j, p := range in {
		k.zero(quads[0][j])
		k.part(true, quads[0][j], p, n)
		k.emit("ADD %v, %v, %v", step4, p, p)
	}
	body(quads[:1])
	k.part(false, quads[0][0], out, n)
	k.emit("ADD %v, %v, %v", step4, out, out)
	k.next = step4
	k.at(done)
}

// each writes an instruction for each quad; operands returns its operands.
func (k *function) each(quads [][]v, name string, operands func(q []v) []v) {
	for _, q := range quads {
		k.op(name, operands(q)...)
	}
}

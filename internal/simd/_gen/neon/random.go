package neon

func random(f *file) {
	f.function("philox", philox)
	f.function("unit32", unit32)
	f.function("unit64", unit64)
}

// philox holds the same state word of four counters in each register. A long product of two of them
// fills one register, and one instruction each collects the low and the high halves of all four.
func philox(k *function) {
	dst, groups, keys := k.param("dst"), k.param("groups"), k.param("keys")
	counter, stream := k.param("counter"), k.param("stream")
	mul := k.constants("multipliers", 0xD2511F53, 0xCD9E8D57)
	// The counter is a multiple of 16, so adding a lane number changes only its low four bits.
	offsets, from := k.vs(4), k.x()
	k.emit("MOVD $%s(SB), %v", k.table("lanes", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), from)
	k.ldp(offsets[0], offsets[1], from, 0)
	k.ldp(offsets[2], offsets[3], from, 32)
	high, p := k.x(), k.x()
	k.emit("LSR $32, %v, %v", stream, high)
	var s [4][4]v
	for c := range s {
		copy(s[c][:], k.vs(4))
	}
	key := k.vs(2)
	loA, loB, hiA, hiB := k.v(), k.v(), k.v(), k.v()

	k.at("group")
	k.emit("MOVD %v, %v", keys, p)
	k.dupW(loA, counter)
	k.emit("LSR $32, %v, %v", counter, from)
	for c := range s {
		k.op("orr", s[c][0], loA, offsets[c])
		k.dupW(s[c][1], from)
		k.dupW(s[c][2], stream)
		k.dupW(s[c][3], high)
	}
	for range 10 {
		k.ld1r(key[0], p)
		k.ld1r(key[1], p)
		for c := range s {
			w := &s[c]
			k.op("umull", loA, w[0], mul[0])
			k.op("umull2", loB, w[0], mul[0])
			k.op("umull", hiA, w[2], mul[1])
			k.op("umull2", hiB, w[2], mul[1])
			k.op("eor", w[1], w[1], key[0])
			k.op("eor", w[3], w[3], key[1])
			k.op("uzp2.4s", w[0], hiA, hiB)
			k.op("uzp2.4s", w[2], loA, loB)
			k.op("eor", w[0], w[0], w[1])
			k.op("eor", w[2], w[2], w[3])
			k.op("uzp1.4s", w[1], hiA, hiB)
			k.op("uzp1.4s", w[3], loA, loB)
		}
	}
	for word := range 4 {
		k.stpNext(s[0][word], s[1][word], dst)
		k.stpNext(s[2][word], s[3][word], dst)
	}
	k.emit("ADD $16, %v, %v", counter, counter)
	k.emit("SUBS $1, %v, %v", groups, groups)
	k.emit("BNE group")
}

func unit32(k *function) {
	dst, src, n := k.param("dst"), k.param("bits"), k.param("n")
	ulp := k.constants("ulp24", bits(0x1p-24))[0]
	r := k.vs(4)
	k.at("loop")
	k.ldpNext(r[0], r[1], src)
	k.ldpNext(r[2], r[3], src)
	for _, i := range r {
		k.shift("ushr.4s", i, i, 8)
	}
	for _, i := range r {
		k.op("ucvtf.4s", i, i)
	}
	for _, i := range r {
		k.op("fmul.4s", i, i, ulp)
	}
	k.stpNext(r[0], r[1], dst)
	k.stpNext(r[2], r[3], dst)
	k.emit("SUBS $16, %v, %v", n, n)
	k.emit("BNE loop")
}

func unit64(k *function) {
	dst, src, n := k.param("dst"), k.param("bits"), k.param("n")
	ulp, p := k.v(), k.x()
	k.emit("MOVD $0x3ca0000000000000, %v", p) // 2⁻⁵³
	k.dupX(ulp, p)
	r := k.vs(4)
	k.at("loop")
	k.ldpNext(r[0], r[1], src)
	k.ldpNext(r[2], r[3], src)
	for _, i := range r {
		k.shift("ushr.2d", i, i, 11)
	}
	for _, i := range r {
		k.op("ucvtf.2d", i, i)
	}
	for _, i := range r {
		k.op("fmul.2d", i, i, ulp)
	}
	k.stpNext(r[0], r[1], dst)
	k.stpNext(r[2], r[3], dst)
	k.emit("SUBS $8, %v, %v", n, n)
	k.emit("BNE loop")
}

package simd

// FlipBits draws which sites of the string own flip, all at once, and stores in dst what
// they are then: bit i of dst is
//
//	dst_i = 1 − own_i where u_i < p[own_i][k_i], else own_i,
//
// with k_i ≤ 4 its number of neighbours in state 1, near as [GridBits] stores it, p from
// [FlipOdds.Set] and u_i as [HeatBits] has it. It panics unless len(dst) is a multiple of
// 8, at most 512, own is as long and near thrice as long.
func FlipBits(dst, own, near []uint64, o *FlipOdds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), maxBits/64)
	checkLen("own", len(own), len(dst))
	checkLen("near", len(near), planes*len(dst))
	if ars {
		flipBitsARS(dst, own, near, o, key, stream, group)
	} else {
		flipBits(dst, own, near, o, key, stream, group)
	}
}

// TallyFlips adds to forth the sites of the string from that flip to be those of to, and
// to back the sites of to and those of them that flip on the way back; before and after
// are numbers of neighbours in the one string and in the other, as [GridBits] stores
// them. Only sites that are set in valid count. It panics unless len(from) is a multiple
// of 8, at most 512, to and valid are as long, and the numbers thrice as long. The result
// is undefined where a number is above 4.
func TallyFlips(forth, back *FlipTally, from, to, before, after, valid []uint64) {
	checkBits("from", len(from), maxBits/64)
	checkLen("to", len(to), len(from))
	checkLen("before", len(before), planes*len(from))
	checkLen("after", len(after), planes*len(from))
	checkLen("valid", len(valid), len(from))
	a, b := tallyFlips(from, to, before, after, valid)
	a.addTo(forth)
	b.addTo(back)
}

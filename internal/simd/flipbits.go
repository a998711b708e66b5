package simd

// FlipBits draws which sites of the string own flip, all at once: bit i of dst is
//
//	dst_i = 1 where u_i < p[own_i][k_i], else 0,
//
// with k_i ≤ 4 its number of neighbours in state 1, p from [FlipOdds.Set] and u_i as
// [HeatBits] has it. It panics unless len(dst) is a multiple of 8, at most that of
// counts, and own is as long.
func FlipBits(dst, own []uint64, count *Counts, o *FlipOdds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), len(count[0]))
	checkLen("own", len(own), len(dst))
	if ars {
		flipBitsARS(dst, own, count, o, key, stream, group)
	} else {
		flipBits(dst, own, count, o, key, stream, group)
	}
}

// TallyFlips adds to t the sites of the string own that are set in valid, of which those
// flip that are set in flip. It panics unless len(own) is a multiple of 8, at most that
// of counts, and the other strings are as long. The result is undefined where a count is
// above 4.
func TallyFlips(t *FlipTally, own, flip, valid []uint64, count *Counts) {
	checkBits("own", len(own), len(count[0]))
	checkLen("flip", len(flip), len(own))
	checkLen("valid", len(valid), len(own))
	terms := tallyFlips(own, flip, valid, count)
	terms.addTo(t)
}

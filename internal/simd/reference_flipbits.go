package simd

import "math/bits"

// The definitions, in plain Go, of the bits that every backend of flipbits.go gives.

func refFlipBits(dst, own []uint64, count *Counts, o *FlipOdds, key, stream, group uint64) {
	refFlipHeat(dst, own, count, o, group, func(counter uint64) [4]uint32 { return philoxBlock(counter, stream, key) })
}

func refFlipBitsARS(dst, own []uint64, count *Counts, o *FlipOdds, key, stream, group uint64) {
	keys := arsKeys(key)
	refFlipHeat(dst, own, count, o, group, func(counter uint64) [4]uint32 { return arsBlock(counter, stream, &keys) })
}

func refFlipHeat(dst, own []uint64, count *Counts, o *FlipOdds, group uint64, block func(counter uint64) [4]uint32) {
	own = own[:len(dst)]
	for i := range dst {
		x, c0, c1, c2 := own[i], count[0][i], count[1][i], count[2][i]
		dst[i] = refBelow(i, group, block, func(d int) uint64 { return o.digit(d, x, c0, c1, c2) })
	}
}

func refTallyFlips(own, flip, valid []uint64, count *Counts) (s flipTerms) {
	flip, valid = flip[:len(own)], valid[:len(own)]
	for i, x := range own {
		v, f, c0, c1 := valid[i], flip[i], count[0][i], count[1][i]
		for j, term := range [5]uint64{v, v & c0, v & c1, v & c0 & c1, v & count[2][i]} {
			for k, v := range [4]uint64{term, term & x, term & f, term & x & f} {
				s[j] += uint64(bits.OnesCount64(v)) << (16 * k)
			}
		}
	}
	return s
}

//go:build amd64 && !purego

package simd

func flipBits(dst, own []uint64, count *Counts, o *FlipOdds, key, stream, group uint64) {
	if best == purego || len(dst) == 0 || len(dst) > maxBits/64 {
		refFlipBits(dst, own, count, o, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	flipBitsRun(dst, own, count, o, &keys, stream, 16*group)
}

//go:noinline
func flipBitsRun(dst, own []uint64, count *Counts, o *FlipOdds, keys *[2 * philoxRnds]uint32, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	if best == avx512 {
		flipBitsAVX512(&dst[0], &own[0], count.words(), &o.digits, keys, counter, stream, n)
	} else {
		flipBitsAVX2(&dst[0], &own[0], count.words(), &o.digits, keys, counter, stream, n)
	}
}

func flipBitsARS(dst, own []uint64, count *Counts, o *FlipOdds, key, stream, group uint64) {
	if best == purego || !aes128 || len(dst) == 0 || len(dst) > maxBits/64 {
		refFlipBitsARS(dst, own, count, o, key, stream, group)
		return
	}
	keys := arsKeys(key)
	flipBitsARSRun(dst, own, count, o, &keys, stream, 16*group)
}

//go:noinline
func flipBitsARSRun(dst, own []uint64, count *Counts, o *FlipOdds, keys *[2 * (arsRnds + 1)]uint64, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	if best == avx512 && aes512 {
		flipBitsARSAVX512(&dst[0], &own[0], count.words(), &o.digits, keys, counter, stream, n)
	} else {
		flipBitsARSAVX2(&dst[0], &own[0], count.words(), &o.digits, keys, counter, stream, n)
	}
}

func tallyFlips(own, flip, valid []uint64, count *Counts) (s flipTerms) {
	if best == purego || len(own) == 0 || len(own) > maxBits/64 {
		return refTallyFlips(own, flip, valid, count)
	}
	var sums [5][2]uint64
	tallyFlipsRun(own, flip, valid, count, &sums)
	for j, half := range sums {
		s[j] = half[0] + half[1]
	}
	return s
}

//go:noinline
func tallyFlipsRun(own, flip, valid []uint64, count *Counts, sums *[5][2]uint64) {
	n := len(own) / (BitSites / 64)
	if best == avx512 && popcounts {
		tallyFlipsAVX512(&own[0], &flip[0], &valid[0], count.words(), n, sums)
	} else {
		tallyFlipsAVX2(&own[0], &flip[0], &valid[0], count.words(), n, sums)
	}
}

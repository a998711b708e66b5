//go:build amd64 && !purego

package simd

func flipBits(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	if best == purego || len(dst) == 0 || len(dst) > maxBits/64 {
		refFlipBits(dst, own, near, o, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	flipBitsRun(dst, own, near, o, &keys, stream, 16*group)
}

//go:noinline
func flipBitsRun(dst, own, near []uint64, o *FlipOdds, keys *[2 * philoxRnds]uint32, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	if best == avx512 {
		flipBitsAVX512(&dst[0], &own[0], &near[0], &o.digits, keys, counter, stream, n)
	} else {
		flipBitsAVX2(&dst[0], &own[0], &near[0], &o.digits, keys, counter, stream, n)
	}
}

func flipBitsARS(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	if best == purego || !aes128 || len(dst) == 0 || len(dst) > maxBits/64 {
		refFlipBitsARS(dst, own, near, o, key, stream, group)
		return
	}
	keys := arsKeys(key)
	flipBitsARSRun(dst, own, near, o, &keys, stream, 16*group)
}

//go:noinline
func flipBitsARSRun(dst, own, near []uint64, o *FlipOdds, keys *[2 * (arsRnds + 1)]uint64, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	if best == avx512 && aes512 {
		flipBitsARSAVX512(&dst[0], &own[0], &near[0], &o.digits, keys, counter, stream, n)
	} else {
		flipBitsARSAVX2(&dst[0], &own[0], &near[0], &o.digits, keys, counter, stream, n)
	}
}

func tallyFlips(from, to, before, after, valid []uint64) (forth, back flipTerms) {
	if best == purego || len(from) == 0 || len(from) > maxBits/64 {
		return refTallyFlips(from, to, before, after, valid)
	}
	var sums [2][5][2]uint64
	tallyFlipsRun(from, to, before, after, valid, &sums)
	for j := range forth {
		forth[j] = sums[0][j][0] + sums[0][j][1]
		back[j] = sums[1][j][0] + sums[1][j][1]
	}
	return forth, back
}

//go:noinline
func tallyFlipsRun(from, to, before, after, valid []uint64, sums *[2][5][2]uint64) {
	n := len(from) / (BitSites / 64)
	if best == avx512 && popcounts {
		tallyFlipsAVX512(&from[0], &to[0], &before[0], &after[0], &valid[0], n, sums)
	} else {
		tallyFlipsAVX2(&from[0], &to[0], &before[0], &after[0], &valid[0], n, sums)
	}
}

func gridBits(near, own []uint64, at int, t *BitTorus, a, b []uint64) {
	if best == purego || len(a) > maxBits/64 {
		refGridBits(near, own, at, t, a, b)
		return
	}
	gridBitsRun(near, own, at, t, a, b)
}

//go:noinline
func gridBitsRun(near, own []uint64, at int, t *BitTorus, a, b []uint64) {
	n := len(a) / (BitSites / 64)
	if best == avx512 {
		gridBitsAVX512(&near[0], &own[at], &t.asm, &a[0], &b[0], n)
	} else {
		gridBitsAVX2(&near[0], &own[at], &t.asm, &a[0], &b[0], n)
	}
}

// unpackBits leaves the last sites, of less than half a word, to the reference.
func unpackBits(x []int32, own []uint64) {
	if best != purego && len(x) <= maxBits {
		if n := len(x) / 32; n > 0 {
			unpackBitsRun(x, own, n)
		}
		done := len(x) &^ 31
		for i := done; i < len(x); i++ {
			x[i] = int32(own[i/64] >> (i % 64) & 1)
		}
		return
	}
	refUnpackBits(x, own)
}

//go:noinline
func unpackBitsRun(x []int32, own []uint64, n int) {
	if best == avx512 {
		unpackBitsAVX512(&x[0], &own[0], n)
	} else {
		unpackBitsAVX2(&x[0], &own[0], n)
	}
}

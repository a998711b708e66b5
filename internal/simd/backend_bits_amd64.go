//go:build amd64 && !purego

package simd

// maxBits bounds calls of heatBits and torusBits, at up to 1 ns a site with AVX2,
// and spreadTerms those of spreadBits, at up to 0.5 ns.
const spreadTerms = 1 << 16

func heatBits(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	if best == purego || len(dst) == 0 || len(dst) > maxBits/64 {
		refHeatBits(dst, count, o, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	heatBitsRun(dst, count, o, &keys, stream, 16*group)
}

//go:noinline
func heatBitsRun(dst []uint64, count *Counts, o *Odds, keys *[2 * philoxRnds]uint32, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	switch {
	case best == avx512 && o.terms == 5:
		heatBits5AVX512(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	case best == avx512:
		heatBits8AVX512(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	case o.terms == 5:
		heatBits5AVX2(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	default:
		heatBits8AVX2(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	}
}

func heatBitsARS(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	if best == purego || !aes128 || len(dst) == 0 || len(dst) > maxBits/64 {
		refHeatBitsARS(dst, count, o, key, stream, group)
		return
	}
	keys := arsKeys(key)
	heatBitsARSRun(dst, count, o, &keys, stream, 16*group)
}

//go:noinline
func heatBitsARSRun(dst []uint64, count *Counts, o *Odds, keys *[2 * (arsRnds + 1)]uint64, stream, counter uint64) {
	n := len(dst) / (BitSites / 64)
	wide := best == avx512 && aes512
	switch {
	case wide && o.terms == 5:
		heatBitsARS5AVX512(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	case wide:
		heatBitsARS8AVX512(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	case o.terms == 5:
		heatBitsARS5AVX2(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	default:
		heatBitsARS8AVX2(&dst[0], count.words(), &o.digits, keys, counter, stream, n)
	}
}

func torusBits(count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64) {
	if best == purego || len(rows) > maxBits/64 {
		refTorusBits(count, own, at, near, rows, a, b)
		return
	}
	torusBitsRun(count, own, at, near, rows, a, b)
}

//go:noinline
func torusBitsRun(count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64) {
	n := len(rows) / (BitSites / 64)
	if best == avx512 {
		torusBitsAVX512(&count[0][0], &own[at], &near.asm, &rows[0], &a[0], &b[0], n)
	} else {
		torusBitsAVX2(&count[0][0], &own[at], &near.asm, &rows[0], &a[0], &b[0], n)
	}
}

func spreadBits(x []int32, even, odd []uint64, first, n int) {
	if best == purego || 2*n > spreadTerms {
		refSpreadBits(x, even, odd, first, n)
		return
	}
	most := spreadTerms / (2 * n) // rows
	if most > 1 {
		most &^= 1
	}
	for len(x) > 0 {
		rows := min(most, len(x)/(2*n))
		spreadRun(x[:2*n*rows], even, odd, first, n, rows)
		x, first = x[2*n*rows:], first+n*rows
		if rows%2 == 1 {
			even, odd = odd, even
		}
	}
}

//go:noinline
func spreadRun(x []int32, even, odd []uint64, first, n, rows int) {
	if best == avx512 {
		spreadBitsAVX512(&x[0], &even[0], &odd[0], first, n, rows)
	} else {
		spreadBitsAVX2(&x[0], &even[0], &odd[0], first, n, rows)
	}
}

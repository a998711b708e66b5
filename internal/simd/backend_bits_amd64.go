//go:build amd64 && !purego

package simd

// heatRegisters bounds one call: up to 0.2 µs for 512 sites with AVX2.
// spreadTerms likewise: up to 0.2 ns a site.
const (
	heatRegisters = 64
	spreadTerms   = 1 << 16
)

func heatBits(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	if best == purego || len(dst) == 0 {
		refHeatBits(dst, count, o, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	heatBitsRun(dst, count, o, &keys, stream, 16*group)
}

// heatBitsRun makes at most heatRegisters calls of 512 sites, as counts have room
// for no more.
//
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

func (c *Counts) words() *[3][512]uint64 { return (*[3][512]uint64)(c) }

//go:noinline
func torusBits(count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64) {
	switch n := len(rows) / (BitSites / 64); best {
	case avx512:
		torusBitsAVX512(count.words(), &own[at], &near.asm, &rows[0], &a[0], &b[0], n)
	case avx2:
		torusBitsAVX2(count.words(), &own[at], &near.asm, &rows[0], &a[0], &b[0], n)
	default:
		refTorusBits(count, own, at, near, rows, a, b)
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

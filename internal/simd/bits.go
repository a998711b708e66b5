package simd

import "fmt"

// HeatBits draws sites afresh given their neighbours (heat bath): for site i, bit
// i of the string dst,
//
//	dst_i = 1 where u_i < p[k_i], else 0,
//
// with k_i ≤ 7 its number of neighbours in state 1, p from [NewOdds] and u_i a
// random integer of 64 binary digits. Digit d of u_i, the highest being 0, is bit
// i mod 32 of word 512r + 16d + ⌊i/32⌋ mod 16 of the stream from the given group
// on, r = ⌊i/512⌋ (see [Philox] and [ARS], whose words they are if ars says so):
// BitGroups groups for every BitSites sites. Digits are looked at only until they
// differ from those of p.
//
// It panics unless len(dst) is a multiple of 8, at most that of counts.
func HeatBits(dst []uint64, count *Counts, o *Odds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), len(count[0]))
	if ars {
		heatBitsARS(dst, count, o, key, stream, group)
	} else {
		heatBits(dst, count, o, key, stream, group)
	}
}

// TorusBits stores in count the number of neighbours in state 1 of the sites
// first, first+1, …, first+64·len(rows)−1 of one colour, whose neighbours are in
// the string own of the other colour, at the places that near says. Site i is bit
// i mod 64 of word pad + ⌊i/64⌋ of own. rows, a and b begin at first, a multiple
// of 64. It panics unless lengths fit: own holds what is up to 64 bits beyond all places.
func TorusBits(count *Counts, own []uint64, pad, first int, near *BitTorus, rows, a, b []uint64) {
	checkBits("rows", len(rows), len(count[0]))
	checkLen("a", len(a), len(rows))
	checkLen("b", len(b), len(rows))
	for _, d := range near.ends {
		lo := pad + (first+d)>>6
		if lo < 0 || lo+len(rows)+1 > len(own) {
			panic(fmt.Sprintf("simd: TorusBits: words %d … %d of own, which has %d", lo, lo+len(rows), len(own)))
		}
	}
	if len(rows) > 0 {
		torusBits(count, own, pad+first/64, near, rows, a, b)
	}
}

// SpreadBits stores rows of a lattice of two colours as numbers: with n pairs of
// columns, x[2nr + 2j] is bit first + nr + j of even and x[2nr + 2j + 1] that of
// odd, for even r; for odd r the two change places. It panics unless len(x) is a
// multiple of 2n and the strings are long enough, with a word to spare.
func SpreadBits(x []int32, even, odd []uint64, first, n int) {
	if n < 1 || len(x)%(2*n) != 0 {
		panic(fmt.Sprintf("simd: SpreadBits: len(x) = %d, want a multiple of 2·%d", len(x), n))
	}
	if last := (first+len(x)/2)/64 + 1; first < 0 || last >= len(even) || last >= len(odd) {
		panic(fmt.Sprintf("simd: SpreadBits: bits %d … %d of %d and %d words", first, first+len(x)/2, len(even), len(odd)))
	}
	spreadBits(x, even, odd, first, n)
}

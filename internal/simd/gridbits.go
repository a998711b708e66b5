package simd

import "fmt"

// GridBits stores in near the number of neighbours in state 1 of the sites first,
// first+1, …, first+64·len(a)−1 of the string own, which are at the places that t says.
// Site i is bit i mod 64 of word pad + ⌊i/64⌋ of own; near[24r + 8p + w] has digit p of
// the numbers of word 8r + w from first on. a and b begin at first, a multiple of 64: a
// site has near[2] of [NewBitTorus] where a is set and near[3] where it is not, near[4]
// where b is set and near[5] where it is not, and near[0] and near[1].
//
// It panics unless lengths fit: that of a is a multiple of 8, at most 512, and own holds
// what is up to 64 bits beyond all places.
func GridBits(near, own []uint64, pad, first int, t *BitTorus, a, b []uint64) {
	checkBits("a", len(a), maxBits/64)
	checkLen("b", len(b), len(a))
	checkLen("near", len(near), planes*len(a))
	for _, d := range t.ends {
		lo := pad + (first+d)>>6
		if lo < 0 || lo+len(a)+1 > len(own) {
			panic(fmt.Sprintf("simd: GridBits: words %d … %d of own, which has %d", lo, lo+len(a), len(own)))
		}
	}
	if len(a) > 0 {
		gridBits(near, own, pad+first/64, t, a, b)
	}
}

// UnpackBits stores bit i of own in x[i]. It panics unless own has as many.
func UnpackBits(x []int32, own []uint64) {
	if len(x) > 64*len(own) {
		panic(fmt.Sprintf("simd: UnpackBits: len(x) = %d, want ≤ 64·%d", len(x), len(own)))
	}
	for len(x) > 0 {
		n := min(len(x), maxBits)
		unpackBits(x[:n], own)
		x, own = x[n:], own[(n+63)/64:]
	}
}

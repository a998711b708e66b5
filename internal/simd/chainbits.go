package simd

import "fmt"

// GraphBits stores in the lanes 0 … n−1 of count how many neighbours of a site are in
// state 1, for every chain: the sum over k = 0, …, degree−1 of lane
// near[k·n + p] & (2³¹−1) of own, all bits of which are flipped where near[k·n + p] is
// negative. Lanes of count from n on keep what they hold.
//
// It panics unless 0 ≤ degree ≤ 7, n is a multiple of 16 from 0 to 1024,
// len(near) = n·degree, and own has the lanes.
func GraphBits(count *Counts, own []uint64, near []int32, n, degree int) {
	if degree < 0 || degree > 7 || n < 0 || n%16 != 0 || n > 2*len(count[0]) || len(near) != n*degree {
		panic(fmt.Sprintf("simd: GraphBits: n = %d, degree = %d and len(near) = %d, want a multiple of 16 up to %d, 0 … 7 and their product", n, degree, len(near), 2*len(count[0])))
	}
	graphBits(count, own, near, n, degree)
}

// TallyBits adds to t what has become of the sites of the lanes in now, which were in
// old, with the numbers of neighbours in count: 1 to Up, 1 to Moved and m to Sum for one
// that went from 0 to 1 with m neighbours in state 1; 1 to Moved and TallyDown − m to Sum for one
// that went from 1 to 0. It panics unless len(now) = len(old), a multiple of 8, at most
// the words of count.
func TallyBits(t *ChainTally, now, old []uint64, count *Counts) {
	checkBits("now", len(now), len(count[0]))
	checkLen("old", len(old), len(now))
	tallyBits(t, now, old, count)
}

// SpreadChains stores chains as numbers, row-major: x[c·n + i] is bit c of lane place[i]
// of own, n = len(place). It panics unless len(x) is a multiple of n, at most ChainBits·n,
// and own has the lanes.
func SpreadChains(x []int32, own []uint64, place []int32) {
	n := len(place)
	if n == 0 || len(x)%n != 0 || len(x) > ChainBits*n {
		panic(fmt.Sprintf("simd: SpreadChains: len(x) = %d, want a multiple of %d up to %d times", len(x), n, ChainBits))
	}
	spreadChains(x, own, place)
}

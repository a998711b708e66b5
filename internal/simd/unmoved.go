package simd

import "fmt"

// Unmoved returns how many of the first sites keep their state in a heat bath, eight at a
// time: the largest multiple n of 8 of which every site i < n has
//
//	x_i = 1 where u_i < odds[look_i], else 0,
//
// with u_i = words[2i] + 2³²·words[2i+1]. It panics unless lengths agree, look's being
// len(x) and that of words 2·len(x). It does not look whether look lies in odds.
func Unmoved(odds []uint64, look, x []int32, words []uint32) int {
	checkLen("look", len(look), len(x))
	if len(words) != 2*len(x) {
		panic(fmt.Sprintf("simd: len(words) = %d, want 2·%d", len(words), len(x)))
	}
	return unmoved(odds, look, x, words)
}

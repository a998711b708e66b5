package simd

import (
	"fmt"
)

// Philox fills dst with words of a random stream, starting at a group of 64.
//
// Word j of the stream (key, stream) lies in group G = j/64; with r = j mod 64,
// w = r/16 and lane = r mod 16 it is output word w of Philox4x32-10 under the
// 64-bit key at the 128-bit counter whose low half is G·16 + lane and whose
// high half is stream. The layout is part of the definition: all backends and
// all ways of cutting a stream into calls give the same words.
//
// It panics unless len(dst) is a multiple of 64.
func Philox(dst []uint32, key, stream, group uint64) {
	if len(dst)%GroupWords != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, want a multiple of %d", len(dst), GroupWords))
	}
	philox(dst, key, stream, group)
}

// ARS is [Philox] by another generator, ARS4x32-7: word w of the same counter's
// output under the 128-bit key whose low half is key and whose high half are the
// first 64 binary digits of π − 3. Words of a block are numbered from its lowest
// bytes on.
func ARS(dst []uint32, key, stream, group uint64) {
	if len(dst)%GroupWords != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, want a multiple of %d", len(dst), GroupWords))
	}
	ars(dst, key, stream, group)
}

// Unit32 stores dst[i] = ⌊bits[i]/2⁸⌋·2⁻²⁴, uniform on [0, 1). It panics unless
// len(bits) = len(dst).
func Unit32(dst []float32, bits []uint32) {
	if len(bits) != len(dst) {
		panic(fmt.Sprintf("simd: len(bits) = %d, want %d", len(bits), len(dst)))
	}
	unit32(dst, bits)
}

// Unit64 stores dst[i] = ⌊v/2¹¹⌋·2⁻⁵³, uniform on [0, 1), where
// v = bits[2i] + 2³²·bits[2i+1]. It panics unless len(bits) = 2·len(dst).
func Unit64(dst []float64, bits []uint32) {
	if len(bits) != 2*len(dst) {
		panic(fmt.Sprintf("simd: len(bits) = %d, want %d", len(bits), 2*len(dst)))
	}
	unit64(dst, bits)
}

// Package normal owns the one generator of normal numbers.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package normal

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Fill fills dst with independent standard normal numbers, by the polar method
// of Marsaglia and Bray 1964 from the halves of words as signed fractions: only
// a logarithm and a square root, so the same bits everywhere. It takes about 1.3
// words a pair. An odd dst discards half of its last pair: nothing is kept
// between calls.
func Fill(dst []float32, src rand.Source) {
	for i := 0; i < len(dst); i += 2 {
		a, b := Pair(src)
		dst[i] = float32(a)
		if i+1 < len(dst) {
			dst[i+1] = float32(b)
		}
	}
}

// Pair returns two independent standard normal numbers. The resolution 2⁻³¹ of
// the uniforms limits them to about ±9.
func Pair(src rand.Source) (a, b float64) {
	for {
		word := src.Uint64()
		u, v := signed(uint32(word)), signed(uint32(word>>32))
		r := float64(u*u) + float64(v*v)
		if r < 1 { // never 0: signed is odd in units of 2⁻³²
			scale := math.Sqrt(float64(-2*simd.Log(r)) / r)
			return float64(u * scale), float64(v * scale)
		}
	}
}

// signed returns an odd multiple of 2⁻³² in (−1, 1).
func signed(word uint32) float64 { return (float64(int32(word)) + 0.5) * 0x1p-31 }

// Package normal generates normally distributed random numbers.
package normal

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Fill fills dst with independent standard normal numbers by the polar method of Marsaglia and Bray
// (1964). The halves of a random 64-bit word are used as signed fractions. The method needs only a
// logarithm and a square root, and gives the same bits on every machine. It takes about 1.3 words
// per pair of numbers. If len(dst) is odd, Fill discards one number of the last pair, because no
// state is kept between calls.
func Fill[T float32 | float64](dst []T, src rand.Source) {
	for len(dst) > few {
		n := min(len(dst), 2*points)
		fillMany(dst[:n], src)
		dst = dst[n:]
	}
	for i := 0; i < len(dst); i += 2 {
		a, b := Pair(src)
		dst[i] = T(a)
		if i+1 < len(dst) {
			dst[i+1] = T(b)
		}
	}
}

// fillMany draws all points first and then computes their logarithms together.
func fillMany[T float32 | float64](dst []T, src rand.Source) {
	var u, v, r [points]float64
	want := (len(dst) + 1) / 2
	for n := 0; n < want; {
		for range want - n { // as many words as are certainly due
			u[n], v[n], r[n] = disc(src)
			if r[n] < 1 {
				n++
			}
		}
	}
	simd.Polar(r[:(want+15)&^15]) // full registers are faster than the few that are left
	for i := range want {
		dst[2*i] = T(float64(u[i] * r[i]))
		if 2*i+1 < len(dst) {
			dst[2*i+1] = T(float64(v[i] * r[i]))
		}
	}
}

const (
	points = 32 // points per group in fillMany
	few    = 8  // maximum length for which drawing pair by pair is faster
)

// Pair returns two independent standard normal numbers. They are computed from uniform numbers with
// a resolution of 2⁻³¹, so their absolute values do not exceed about 9.
func Pair(src rand.Source) (a, b float64) {
	for {
		if u, v, r := disc(src); r < 1 {
			scale := math.Sqrt(float64(-2*simd.Log(r)) / r)
			return float64(u * scale), float64(v * scale)
		}
	}
}

// disc returns a random point of the square around the unit disc and its squared distance from
// the centre. The distance is never 0, because coordinates are odd multiples of 2⁻³².
func disc(src rand.Source) (u, v, r float64) {
	word := src.Uint64()
	u, v = signed(uint32(word)), signed(uint32(word>>32))
	return u, v, float64(u*u) + float64(v*v)
}

// signed returns an odd multiple of 2⁻³² in (−1, 1).
func signed(word uint32) float64 { return (float64(int32(word)) + 0.5) * 0x1p-31 }

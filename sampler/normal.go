package sampler

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// fillNormal fills dst with standard normal numbers, by the polar method of
// Marsaglia and Bray 1964 from words of the stream as signed fractions, about
// 1.3 words each. An odd dst discards half of its last pair: nothing is kept
// between calls.
func fillNormal(dst []float32, s *Stream) {
	for i := 0; i < len(dst); i += 2 {
		a, b := s.normalPair()
		dst[i] = float32(a)
		if i+1 < len(dst) {
			dst[i+1] = float32(b)
		}
	}
}

// normalPair returns two independent standard normal numbers. The resolution
// 2⁻³¹ of the uniforms limits them to about ±9.
func (s *Stream) normalPair() (a, b float64) {
	for {
		u, v := s.signed(), s.signed()
		r := float64(u*u) + float64(v*v)
		if r < 1 { // never 0: signed is odd in units of 2⁻³²
			scale := math.Sqrt(float64(-2*simd.Log(r)) / r)
			return float64(u * scale), float64(v * scale)
		}
	}
}

// signed returns an odd multiple of 2⁻³² in (−1, 1).
func (s *Stream) signed() float64 { return (float64(int32(s.Uint32())) + 0.5) * 0x1p-31 }

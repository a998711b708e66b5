package series

import (
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Raw returns a standardised series (length × channels, as a diffusion draws it) in
// raw units, Shift[c] + Scale[c]·x in float64.
//
// A float32 holds seven digits, so rounding may break rows that a projection has met
// within its tolerance. See [Prices] for a case in which that must not happen. Raw panics
// if len(x) is not Length·Channels, or Shift or Scale do not have Channels entries.
func (s Shape) Raw(x []float32) []float64 {
	check.Len("series", "x", len(x), s.Length*s.Channels)
	if s.Shift != nil {
		check.Len("series", "Shift", len(s.Shift), s.Channels)
	}
	if s.Scale != nil {
		check.Len("series", "Scale", len(s.Scale), s.Channels)
	}
	raw := make([]float64, len(x))
	for i, v := range x {
		shift, scale := s.affine(i % s.Channels)
		raw[i] = shift + float64(scale*float64(v))
	}
	return raw
}

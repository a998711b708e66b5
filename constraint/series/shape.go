package series

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Shape is the size of the series of a [Builder], with their names and units.
type Shape struct {
	// Length and Channels of every series: times and values per time, ≥ 1, the
	// entries at most 2³¹ − 1.
	Length, Channels int

	// Names of the channels, for errors; nil means 0, 1, 2, ….
	Names []string

	// Raw value = Shift[c] + Scale[c]·standardised value, Scale > 0; nil means
	// 0 and 1. Separate scales per channel are fine: rows over several channels
	// are rewritten with them.
	Shift, Scale []float64

	// Tolerance is half the width that equations get, in standardised units: |a·x − b| ≤
	// Tolerance. 0 means 0.005, so that results hold to 0.01 with a margin for rounding;
	// negative means none. Narasimhan et al. 2025 judge their samples at 0.01.
	Tolerance float64
}

// defaultTolerance is half of the 0.01 of Narasimhan et al. 2025.
const defaultTolerance = 0.005

// affine returns the shift and the scale of channel c.
func (s *Shape) affine(c int) (shift, scale float64) {
	scale = 1
	if s.Shift != nil {
		shift = s.Shift[c]
	}
	if s.Scale != nil {
		scale = s.Scale[c]
	}
	return shift, scale
}

// tolerance returns the half-width of equations.
func (s *Shape) tolerance() float64 {
	if s.Tolerance == 0 {
		return defaultTolerance
	}
	return max(s.Tolerance, 0)
}

// channel returns the name of channel c.
func (s *Shape) channel(c int) string {
	if s.Names != nil {
		return s.Names[c]
	}
	return fmt.Sprintf("channel %d", c)
}

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

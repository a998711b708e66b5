package series

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Shape describes the series that a [Builder] constrains: their length, and the names and units
// of their channels.
type Shape struct {
	// Length is the number of time steps of every series, and Channels the number of values at each
	// time step. Both are at least 1, and their product is at most 2³¹ − 1.
	Length, Channels int

	// Names are the names of the channels, for errors; nil means 0, 1, 2, ….
	Names []string

	// Shift and Scale > 0 define the standardised series of channel c:
	//
	//	raw value = Shift[c] + Scale[c]·standardised value.
	//
	// nil means a shift of 0 and a scale of 1. A constraint may combine channels of different
	// scales.
	Shift, Scale []float64

	// Tolerance is the permitted deviation from an equation a·x = b, in units of the channel's
	// scale: |a·x − b| ≤ Tolerance·Scale. Autocorrelations may deviate by Tolerance itself. 0 means
	// 0.005, and a negative value means no tolerance. Narasimhan et al. (2025) evaluate their
	// samples with a tolerance of 0.01, so the default of half of this leaves a margin for
	// rounding.
	Tolerance float64
}

// defaultTolerance is half of the tolerance 0.01 of Narasimhan et al. (2025).
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

// tolerance returns the permitted deviation from an equation, with the default applied.
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

// Raw converts a standardised series (length × channels), such as a sample of a diffusion, to raw
// units. A value x of channel c becomes Shift[c] + Scale[c]·x, computed in float64. Raw panics if
// len(x) is not Length·Channels. It also panics if Shift or Scale has entries, but not one per
// channel.
//
// Because x is float32, rounding may violate an inequality that a projection has satisfied.
// [Prices] corrects this for prices, whose order must hold exactly.
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

package simd

import "slices"

// planes is the number of binary digits of a number of neighbours.
const planes = 3

// BitTorus tells where in a string the neighbours of a site are that are on a
// torus, in strings of two colours, see [TorusBits], or in one, see [GridBits].
type BitTorus struct {
	// near are the places relative to the site's: two in other rows; two of which
	// the second is taken but at the ends of rows; two likewise for other rows.
	near [6]int
	ends [2]int    // the least and the greatest of them
	asm  [6][4]int // bytes, and shifts to the right and to the left
}

// NewBitTorus returns the neighbours at the given places. Of two colours, any site has
// those at near[0], near[1] and at its own place; sites whose bit of rows is set have
// near[2] where a is set and near[3] where it is not; the others have near[4]
// where b is set and near[5] where it is not.
func NewBitTorus(near [6]int) *BitTorus {
	t := &BitTorus{near: near, ends: [2]int{slices.Min(near[:]), slices.Max(near[:])}}
	for j, at := range near {
		shift := at & 63
		t.asm[j] = [4]int{(at - shift) / 8, shift, 64 - shift}
	}
	return t
}

package simd

// States of up to ChainBits chains may be held in lanes of 32 bits, one lane a site and
// one bit a chain: lane p of a string is the lower or, for odd p, the upper half of word
// ⌊p/2⌋.

// ChainBits is the number of bits of a lane.
const ChainBits = 32

// TallyDown is what a site counts that went from 1 to 0, its neighbours taken away.
const TallyDown = 7

// ChainTally counts for each chain what a redraw of sites has changed: the sites that
// went from 0 to 1, all that changed, and a sum over these.
type ChainTally struct{ Up, Moved, Sum [ChainBits]int32 }

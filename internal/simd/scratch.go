package simd

import "sync"

const (
	// scratchTerms is the room for weights that a call needs for itself.
	// Longer rows are cut there, at the end of a block.
	scratchTerms = 32 * blockTerms

	// runGroups and runTerms bound one call of assembly: Philox takes up to 1 ns a
	// word with AVX2, elementwise kernels about as much.
	runGroups = 256
	runTerms  = 16384

	// scratchRows is how many rows share that room.
	scratchRows = 2048
)

// scratch is working space of one call. It is pooled rather than on the stack
// because clearing it would cost more than a draw from a short row.
type scratch struct {
	p      [scratchTerms]float32
	max    [scratchRows]float32 // of rows
	z, sum [scratchRows]float64 // totals of rows
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// perCall returns how many rows of cols entries are worked on at once.
func perCall(rows, cols int) int {
	return min(rows, scratchRows, max(scratchTerms/cols, 1))
}

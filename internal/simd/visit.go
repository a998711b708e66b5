package simd

import "fmt"

// Visit redraws the given sites of state x, each with its two words of random bits, the lower
// half first, and keeps look up to date, the entries of the tables. It panics unless
// words has two for each site and look the length of x, which is that of the graph. It does
// not look whether sites are in x and look in the tables.
func (v *Visits) Visit(look, x, sites []int32, words []uint32) Visited {
	if len(words) != 2*len(sites) {
		panic(fmt.Sprintf("simd: len(words) = %d, want 2·%d", len(words), len(sites)))
	}
	checkLen("x", len(x), len(v.asm.slices[0]))
	checkLen("look", len(look), len(x))
	return visit(v, look, x, sites, words)
}

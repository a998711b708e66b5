package simd

// The definitions, in plain Go, of the bits that every backend of lattice.go gives.

// refTorusInner is the sites of a row that are not at its ends; row has one entry
// more on both sides.
func refTorusInner(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	above, below, left, here, right := above[:len(h)], below[:len(h)], row[:len(h)], row[1:][:len(h)], row[2:][:len(h)]
	for j := range h {
		k := left[j] + right[j] + above[j] + below[j]
		h[j] = table[k&7]
		pairs += int(here[j] * k)
		up += int(here[j])
	}
	return pairs, up
}

//go:build amd64 && !purego

package simd

// heatBathInner redraws as many inner sites of a row as fill registers, from
// column 1 on, and returns their number.
//
//go:noinline
func heatBathInner(c *Changes, table *[8]int32, above, row, below []int32, bits []uint32, odd int) int {
	n := (len(row) - 2) &^ 15
	if n <= 0 || n > runTerms {
		return 0
	}
	var out [3]int
	// Column 1 is odd: with odd columns the even lanes are redrawn, from word 0
	// on; with even columns the odd lanes, from word 1 on.
	word, shift := &bits[1-odd], uint64(32*(1-odd))
	if best == avx512 {
		heatBathAVX512(&out, table, &above[0], &row[0], &below[0], word, shift, n)
	} else {
		heatBathAVX2(&out, table, &above[0], &row[0], &below[0], word, shift, n)
	}
	c.Moved += out[0]
	c.Pairs += out[1]
	c.Up += out[2]
	return n
}

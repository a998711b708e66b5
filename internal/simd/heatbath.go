package simd

import "fmt"

// HeatBath redraws the sites of one colour of a two-dimensional periodic lattice
// of 0/1 states (chromatic Gibbs sampling): with k_i the number of neighbours
// of site i in state 1,
//
//	x_i = 1 where ⌊b_i/2⌋ < table[k_i], else 0,
//
// so that table[k] = 2³¹·p(x_i = 1 | k) for k = 0, …, 4. Colour 0 is the sites
// whose row and column have an even sum, colour 1 the others; b_i is
// bits[⌊i/2⌋], i the row-major index of the site. It panics unless cols and the
// number of rows are even and ≥ 4, colour is 0 or 1, and len(bits) = len(x)/2.
func HeatBath(x []int32, cols, colour int, table *[8]int32, bits []uint32) Changes {
	if cols < 4 || cols%2 != 0 {
		panic(fmt.Sprintf("simd: cols = %d, want an even number ≥ 4", cols))
	}
	if len(x)%(2*cols) != 0 || len(x) < 4*cols {
		panic(fmt.Sprintf("simd: len(x) = %d, want an even multiple of %d, at least four times", len(x), cols))
	}
	if colour != 0 && colour != 1 {
		panic(fmt.Sprintf("simd: colour = %d, want 0 or 1", colour))
	}
	checkLen("bits", len(bits), len(x)/2)
	var c Changes
	for at := 0; at < len(x); at += cols {
		above, below := at-cols, at+cols
		if above < 0 {
			above = len(x) - cols
		}
		if below == len(x) {
			below = 0
		}
		odd := (at/cols + colour) % 2
		heatBathRow(&c, table, x[above:above+cols], x[at:at+cols], x[below:below+cols], bits[at/2:(at+cols)/2], odd)
	}
	return c
}

// heatBathRow redraws the sites of a row whose columns are even, or odd.
func heatBathRow(c *Changes, table *[8]int32, above, row, below []int32, bits []uint32, odd int) {
	last := len(row) - 1
	if odd == 0 {
		c.site(table, &row[0], row[last]+row[1]+above[0]+below[0], bits[0])
	} else {
		c.site(table, &row[last], row[last-1]+row[0]+above[last]+below[last], bits[last/2])
	}
	// Whole registers of the inner columns, from column 1 on; then the rest.
	n := 0
	if best != purego {
		n = heatBathInner(c, table, above, row, below, bits, odd)
	}
	for j := 1 + n + 1 - odd; j < last; j += 2 {
		c.site(table, &row[j], row[j-1]+row[j+1]+above[j]+below[j], bits[j/2])
	}
}

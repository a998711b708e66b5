package simd

import (
	"fmt"
)

// Torus counts the neighbours in state 1 on a two-dimensional periodic lattice of states 0 and 1.
// For every site, it looks up the count in table:
//
//	h[i] = table[k_i],  k_i = Σ x_j over the four neighbours j of site i.
//
// It returns pairs = Σ x_i·k_i and up = Σ x_i. The lattice is row-major, with cols ≥ 3 columns and
// at least 3 rows. Torus panics unless len(x) is a multiple of cols and at least 3·cols, and len(h)
// = len(x).
func Torus(h []float32, table *[8]float32, x []int32, cols int) (pairs, up int) {
	if cols < 3 {
		panic(fmt.Sprintf("simd: cols = %d, want ≥ 3", cols))
	}
	if len(x)%cols != 0 || len(x) < 3*cols {
		panic(fmt.Sprintf("simd: len(x) = %d, want a multiple of %d, at least three times", len(x), cols))
	}
	checkLen("h", len(h), len(x))
	last := len(x) - cols
	pairs, up = torusRow(h[:cols], table, x[last:], x[:cols], x[cols:2*cols])
	p, u := torusRow(h[last:], table, x[last-cols:last], x[last:], x[:cols])
	pairs, up = pairs+p, up+u

	// The inner rows are computed as one long row. Neighbours at the ends of rows are then wrong
	// and are corrected below.
	p, u = torusInner(h[cols:last], table, x[:last-cols], x[cols-1:last+1], x[2*cols:])
	pairs, up = pairs+p, up+u
	for at := cols; at < last; at += cols {
		end := at + cols - 1
		k0 := x[end] + x[at+1] + x[at-cols] + x[at+cols]
		k1 := x[end-1] + x[at] + x[end-cols] + x[end+cols]
		h[at], h[end] = table[k0&7], table[k1&7]
		pairs += int(x[at]*(x[end]-x[at-1])) + int(x[end]*(x[at]-x[end+1]))
	}
	return pairs, up
}

// torusRow computes one row of Torus, given the rows above and below.
func torusRow(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	last := len(row) - 1
	k0 := row[last] + row[1] + above[0] + below[0]
	k1 := row[last-1] + row[0] + above[last] + below[last]
	h[0], h[last] = table[k0&7], table[k1&7]
	pairs, up = torusInner(h[1:last], table, above[1:last], row, below[1:last])
	return pairs + int(row[0]*k0) + int(row[last]*k1), up + int(row[0]) + int(row[last])
}

// shortRow is the number of sites in a row at or above which the assembly is faster
// (BenchmarkDouble/Torus/5).
const shortRow = 8

// torusInner computes the sites of a row except its two ends. row has one extra entry at each end.
func torusInner(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	if best < torusInnerLevel || len(h) < shortRow {
		return refTorusInner(h, table, above, row, below)
	}
	for len(h) > 0 {
		n := min(len(h), runTerms)
		var sums [2]int
		torusInnerRun(&sums, h[:n], table, above, row, below)
		pairs, up = pairs+sums[0], up+sums[1]
		h, above, row, below = h[n:], above[n:], row[n:], below[n:]
	}
	return pairs, up
}

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

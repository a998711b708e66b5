package simd

import "fmt"

// Changes lists the sites at which new states, which are vectors of zeros and ones, differ from
// earlier states. [Changes.Set] finds these sites. [Changes.Add] then updates a sum of matrix rows,
// with one row for each site in state 1. The zero value holds no states. Only one goroutine
// at a time may use a Changes.
type Changes struct {
	// States × sites: changed rows of each state, as in Add; the rest of a row is undefined.
	rows   []int32
	counts []int // number of changed rows of each state
	zero   []int32
	sites  int
}

// Set stores in c the sites at which the new states y differ from the earlier states x. Both slices
// hold states of the given number of sites, one after the other. If x is nil, the earlier states
// are all zeros. Set keeps no reference to x and y. It panics unless sites ≥ 1, len(y) is a
// multiple of sites and len(x) = len(y).
func (c *Changes) Set(y, x []int32, sites int) {
	if sites < 1 || len(y)%sites != 0 {
		panic(fmt.Sprintf("simd: len(y) = %d, want a multiple of sites = %d, which is to be ≥ 1", len(y), sites))
	}
	c.sites, c.rows, c.counts = sites, resized(c.rows, len(y)), resized(c.counts, len(y)/sites)
	if x == nil {
		c.zero = resized(c.zero, sites)
		clear(c.zero)
	} else {
		checkLen("x", len(x), len(y))
	}
	for k := range c.counts {
		lo, hi := k*sites, (k+1)*sites
		before := c.zero
		if x != nil {
			before = x[lo:hi]
		}
		c.counts[k] = changes(c.rows[lo:hi], y[lo:hi], before)
	}
}

// Len returns the number of changed sites, summed over all states.
func (c *Changes) Len() (n int) {
	for _, v := range c.counts {
		n += v
	}
	return n
}

// Add updates the sum Σ_i x_i·w[i, ·] of the rows of a matrix when the binary state x changes to y,
// the new state with index k. The matrix w is row-major, sites × len(dst). From the sum src for x,
// Add computes the sum for y,
//
//	dst_j = src_j + Σ_i (y_i − x_i)·w[i, j],
//
// and also stores it, rounded to float32, in f_j. Only changed sites are added, in ascending order
// of i. Every sum is rounded to float64; if all sums are exact, the result equals a sum computed
// from scratch. The slice dst may be src. Add panics unless len(f) = len(src) = len(dst) and len(w)
// = sites·len(dst).
func (c *Changes) Add(k int, dst []float64, f []float32, src []float64, w []float32) {
	n := len(dst)
	checkLen("f", len(f), n)
	checkLen("src", len(src), n)
	checkLen("w", len(w), c.sites*n)
	rows, done := c.of(k), 0
	if best >= addRowsLevel && len(rows) > 0 {
		done = n &^ 63
	}
	for at := 0; at < done; at += runRowTerms {
		cols := min(done-at, runRowTerms)
		from := src
		for left, step := rows, runRowTerms/cols; len(left) > 0; left = left[min(step, len(left)):] {
			addRowsRun(dst[at:at+cols], f[at:], from[at:], w[at:], n, left[:min(step, len(left))])
			from = dst
		}
	}
	if done < n {
		refAddRows(dst[done:], f[done:], src[done:], w[done:], n, rows)
	}
}

// Add64 is like [Changes.Add] for a matrix of float64, but does not store the sums in float32.
func (c *Changes) Add64(k int, dst, src, w []float64) {
	n := len(dst)
	checkLen("src", len(src), n)
	checkLen("w", len(w), c.sites*n)
	rows, done := c.of(k), 0
	if best >= addRows64Level && len(rows) > 0 {
		done = n &^ 63
	}
	for at := 0; at < done; at += runRowTerms {
		cols := min(done-at, runRowTerms)
		from := src
		for left, step := rows, runRowTerms/cols; len(left) > 0; left = left[min(step, len(left)):] {
			addRows64Run(dst[at:at+cols], from[at:], w[at:], n, left[:min(step, len(left))])
			from = dst
		}
	}
	if done < n {
		refAddRows64(dst[done:], src[done:], w[done:], n, rows)
	}
}

// of returns the changed rows of state k: i if site i changed to 1, ^i if it changed to 0.
func (c *Changes) of(k int) []int32 { return c.rows[k*c.sites:][:c.counts[k]] }

// refChanges lists in rows each site i with y_i > x_i as i, and each site with y_i < x_i as ^i. It
// returns the number of listed sites; the rest of rows is undefined.
func refChanges(rows, y, x []int32) int {
	n := 0
	x = x[:len(y)]
	for i, v := range y {
		d := v - x[i] // −1, 0 or 1
		rows[n] = int32(i) ^ d>>31
		n += int(d & 1)
	}
	return n
}

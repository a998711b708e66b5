package simd

import "fmt"

// Changes are the sites where states of zeros and ones differ from earlier ones, and so
// the rows of a matrix by which their sums of chosen rows do. The zero value holds no
// states; [Changes.Set] compares. It belongs to one goroutine.
type Changes struct {
	rows   []int32 // states × sites: those of a state, as in Add, then anything
	counts []int   // by state
	zero   []int32
	sites  int
}

// Set makes c the changes from the states x to y of so many sites; if x is nil, from all
// zeros. It keeps nothing of x and y. It panics unless sites ≥ 1, len(y) is a multiple of
// it and len(x) = len(y).
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

// Len returns how many changes there are of all states.
func (c *Changes) Len() (n int) {
	for _, v := range c.counts {
		n += v
	}
	return n
}

// Add adds the rows of a row-major matrix w, sites × len(dst), that state k has gained,
// and subtracts those that it has lost:
//
//	dst_j = src_j + Σ_i (y_i − x_i)·w[i, j],
//
// and f_j = dst_j rounded to float32. Terms are added in ascending order of i, each sum
// rounded to float64; where every sum is exact the order is of no consequence, and a
// state reached by changes has the bits of one made afresh. dst may be src. It panics
// unless len(f) = len(src) = len(dst) and w has these columns.
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

// Add64 is Add for a matrix of float64, without the sums in float32.
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

// of returns the rows of state k: i where site i is now 1, ^i where it was.
func (c *Changes) of(k int) []int32 { return c.rows[k*c.sites:][:c.counts[k]] }

// refChanges stores in rows the sites i where y is above x, and ^i for those below, and
// returns their number. What is behind them in rows is anything.
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

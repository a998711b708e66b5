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
	c.sites, c.rows, c.counts = sites, room(c.rows, len(y)), room(c.counts, len(y)/sites)
	if x == nil {
		c.zero = room(c.zero, sites)
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

// room returns a slice of n entries, in the place of v if it is large enough.
func room[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
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
	if n > 0 {
		addRows(dst, f, src, w, n, c.of(k))
	}
}

// Add64 is Add for a matrix of float64, without the sums in float32.
func (c *Changes) Add64(k int, dst, src, w []float64) {
	n := len(dst)
	checkLen("src", len(src), n)
	checkLen("w", len(w), c.sites*n)
	if n > 0 {
		addRows64(dst, src, w, n, c.of(k))
	}
}

// of returns the rows of state k: i where site i is now 1, ^i where it was.
func (c *Changes) of(k int) []int32 { return c.rows[k*c.sites:][:c.counts[k]] }

package laws

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// minExpected is the expected count below which cells are pooled. It affects only the power of
// the test; the p-value is valid for any choice (TestPValueCalibration).
const minExpected = 10

// normTolerance is the maximum distance of Σp from 1. Distributions computed from float32
// probabilities miss 1 by about 1e-7, which millions of draws cannot detect.
const normTolerance = 1e-6

// PValue returns a bound on the probability that independent draws from the distribution p are at
// least as far from p as the observed counts. It satisfies P(PValue ≤ r) ≤ r for every r and every
// number of draws. It is twice the smaller of two p-values:
//
//   - The first is the smallest two-sided binomial tail of a cell, times the number of cells whose
//     p is neither 0 nor 1.
//   - The second is Fisher's combination of binomial tails, one for each cell. The tail is that of
//     the cell's count, given the counts of the cells before it. Cells that expect fewer than 10
//     draws are pooled.
//
// PValue panics unless len(counts) = len(p), all counts are ≥ 0, all p are ≥ 0 and |Σp − 1| ≤ 1e-6.
// Without draws it returns 1.
func PValue(counts []int, p []float64) float64 {
	checkCells(counts, p)
	n := Total(counts)
	if n == 0 {
		return 1
	}
	_, tail := WorstCell(counts, p)
	cells := 0 // a cell with p = 0 or p = 1 is certain, no test is spent on it
	for _, v := range p {
		if v > 0 && v < 1 {
			cells++
		}
	}
	return min(1, 2*min(tail*float64(max(1, cells)), fisher(counts, p, n)))
}

// BinomialPValue returns the exact two-sided p-value of k for X ~ Binomial(n, p). This is twice the
// smaller of P(X ≤ k) and P(X ≥ k), but at most 1. The tails are incomplete beta functions.
func BinomialPValue(k, n int, p float64) float64 {
	switch {
	case n < 0 || k < 0 || k > n:
		panic(fmt.Sprintf("laws: BinomialPValue: k = %d of n = %d, want 0 ≤ k ≤ n", k, n))
	case !(p >= 0 && p <= 1+normTolerance):
		panic(fmt.Sprintf("laws: BinomialPValue: p = %v, want 0…1", p))
	case n == 0:
		return 1
	case p == 0:
		return indicator(k == 0)
	case p >= 1:
		return indicator(k == n)
	}
	lower, upper := 1.0, 1.0
	if k < n {
		lower = mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
	}
	if k > 0 {
		upper = mathext.RegIncBeta(float64(k), float64(n-k+1), p)
	}
	return min(1, 2*min(lower, upper))
}

// WorstCell returns the cell whose count is the least likely, and the two-sided binomial p-value of
// that count. No other cell has a smaller p-value.
func WorstCell(counts []int, p []float64) (cell int, tail float64) {
	n := Total(counts)
	tail = math.Inf(1)
	for k, c := range counts {
		if t := BinomialPValue(c, n, p[k]); t < tail {
			cell, tail = k, t
		}
	}
	return cell, tail
}

// fisher combines the tails of the pooled cells. Given the previous cells, a multinomial cell is
// binomial. Each tail is therefore stochastically no smaller than uniform. Hence −2 Σ log tail
// is stochastically no larger than χ² with two degrees of freedom per tail.
func fisher(counts []int, p []float64, n int) float64 {
	c, q := pool(counts, p, n)
	rest := make([]float64, len(q)) // rest[k] = Σ_{j≥k} q_j
	for k, s := len(q)-1, 0.0; k >= 0; k-- {
		s += q[k] // largest first, all ≥ 0: the error is a few roundings
		rest[k] = s
	}
	var stat Accumulator
	tests := 0
	for k := 0; k+1 < len(c); k++ {
		t := BinomialPValue(c[k], n, min(1, q[k]/rest[k]))
		if t == 0 {
			return 0
		}
		stat.Add(-math.Log(t))
		tests++
		n -= c[k]
	}
	if tests == 0 {
		return 1
	}
	return mathext.GammaIncRegComp(float64(tests), stat.Value())
}

// pool merges cells, starting with the least likely, until each expects at least minExpected
// draws.
func pool(counts []int, p []float64, n int) (c []int, q []float64) {
	order := make([]int, len(p))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	open := false // the last pooled cell still expects too little
	for _, k := range order {
		if !open {
			c, q = append(c, 0), append(q, 0)
		}
		last := len(c) - 1
		c[last] += counts[k]
		q[last] += p[k]
		open = float64(n)*q[last] < minExpected
	}
	if last := len(c) - 1; open && last > 0 {
		c[last-1] += c[last]
		q[last-1] += q[last]
		c, q = c[:last], q[:last]
	}
	return c, q
}

func checkCells(counts []int, p []float64) {
	if len(counts) != len(p) || len(p) == 0 {
		panic(fmt.Sprintf("laws: %d counts and %d probabilities, want the same number ≥ 1", len(counts), len(p)))
	}
	for k := range p {
		if counts[k] < 0 || !(p[k] >= 0) {
			panic(fmt.Sprintf("laws: cell %d has count %d and probability %v, want both ≥ 0", k, counts[k], p[k]))
		}
	}
	if s := Sum(p); !(math.Abs(s-1) <= normTolerance) {
		panic(fmt.Sprintf("laws: Σp = %v, want 1 within %g", s, normTolerance))
	}
}

// Total returns the sum of the counts.
func Total(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

package exact

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// TB is the part of testing.TB that a verdict needs; *testing.T, *testing.B,
// *testing.F and *rapid.T have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// minExpected is the expected count below which cells are pooled. It moves
// power only: the p-value is valid whatever it is (TestPValueCalibration).
const minExpected = 10

// normTolerance is how far Σp may be from 1. Laws from float32 probabilities
// miss it by about 1e-7; draws in the millions cannot tell.
const normTolerance = 1e-6

// Counts fails the test if counts, the numbers of independent draws in each
// cell, disagree with the law p at the given false-positive rate (the project
// uses 1e-6). It panics like [PValue].
func Counts(tb TB, counts []int, p []float64, rate float64) {
	tb.Helper()
	checkRate(rate)
	if v := PValue(counts, p); v < rate {
		k, c := worstCell(counts, p)
		tb.Errorf("exact: counts disagree with the law: p-value %.3g < %g; worst cell %d: %d of %d draws, want about %.1f (tail %.3g)",
			v, rate, k, counts[k], total(counts), float64(total(counts))*p[k], c)
	}
}

// Transitions fails the test if the observed moves disagree with the matrix:
// counts[x][y] is the number of independent steps from x that ended in y. A row
// without steps, or a nil row, says nothing. The rate is that of the whole
// test, divided among the rows with steps.
func Transitions(tb TB, counts [][]int, m *Matrix, rate float64) {
	tb.Helper()
	checkRate(rate)
	if v, x := TransitionsPValue(counts, m); v < rate {
		tb.Errorf("exact: transitions disagree with the matrix: p-value %.3g < %g; worst from state %d", v, rate, x)
	}
}

// TransitionsPValue returns the p-value of [Transitions] and the row that is
// least likely.
func TransitionsPValue(counts [][]int, m *Matrix) (v float64, row int) {
	if len(counts) != m.n {
		panic(fmt.Sprintf("exact: len(counts) = %d, want %d", len(counts), m.n))
	}
	v, tested := 1.0, 0
	for x, c := range counts {
		if total(c) == 0 {
			continue
		}
		tested++
		if r := PValue(c, m.Row(x)); r < v {
			v, row = r, x
		}
	}
	return min(1, v*float64(max(1, tested))), row
}

// PValue returns a bound on the probability that independent draws from the law
// p are as far from it as counts are: P(PValue ≤ r) ≤ r for every r and every
// number of draws. It is twice the smaller of
//
//   - cells times the smallest two-sided binomial tail of a cell, and
//   - Fisher's combination of the tails of N_k given N_1 … N_{k−1}, after cells
//     that expect fewer than 10 draws have been pooled.
//
// It panics unless len(counts) = len(p), all counts are ≥ 0, all p are ≥ 0 and
// |Σp − 1| ≤ 1e-6. No draws at all agree with everything.
func PValue(counts []int, p []float64) float64 {
	checkCells(counts, p)
	n := total(counts)
	if n == 0 {
		return 1
	}
	_, tail := worstCell(counts, p)
	cells := 0 // a cell with p = 0 or p = 1 is certain, no test is spent on it
	for _, v := range p {
		if v > 0 && v < 1 {
			cells++
		}
	}
	return min(1, 2*min(tail*float64(max(1, cells)), fisher(counts, p, n)))
}

// BinomialPValue returns twice the smaller of P(X ≤ k) and P(X ≥ k), at most 1,
// for X ~ Binomial(n, p), exactly: tails are incomplete beta functions.
func BinomialPValue(k, n int, p float64) float64 {
	switch {
	case n < 0 || k < 0 || k > n:
		panic(fmt.Sprintf("exact: BinomialPValue: k = %d of n = %d, want 0 ≤ k ≤ n", k, n))
	case !(p >= 0 && p <= 1+normTolerance):
		panic(fmt.Sprintf("exact: BinomialPValue: p = %v, want 0…1", p))
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

// worstCell returns the cell with the smallest two-sided tail.
func worstCell(counts []int, p []float64) (cell int, tail float64) {
	n := total(counts)
	tail = math.Inf(1)
	for k, c := range counts {
		if t := BinomialPValue(c, n, p[k]); t < tail {
			cell, tail = k, t
		}
	}
	return cell, tail
}

// fisher combines the tails of the pooled cells. Given the cells before it, a
// multinomial cell is binomial, so each tail is at least uniform given the
// earlier ones and −2 Σ log is at most χ² with two degrees of freedom per tail.
func fisher(counts []int, p []float64, n int) float64 {
	c, q := pool(counts, p, n)
	rest := make([]float64, len(q)) // rest[k] = Σ_{j≥k} q_j
	for k, s := len(q)-1, 0.0; k >= 0; k-- {
		s += q[k] // largest first, all ≥ 0: the error is a few roundings
		rest[k] = s
	}
	var stat sum
	tests := 0
	for k := 0; k+1 < len(c); k++ {
		t := BinomialPValue(c[k], n, min(1, q[k]/rest[k]))
		if t == 0 {
			return 0
		}
		stat.add(-math.Log(t))
		tests++
		n -= c[k]
	}
	if tests == 0 {
		return 1
	}
	return mathext.GammaIncRegComp(float64(tests), stat.value())
}

// pool merges cells, least likely first, until each expects minExpected draws.
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
		panic(fmt.Sprintf("exact: %d counts and %d probabilities, want the same number ≥ 1", len(counts), len(p)))
	}
	for k := range p {
		if counts[k] < 0 || !(p[k] >= 0) {
			panic(fmt.Sprintf("exact: cell %d has count %d and probability %v, want both ≥ 0", k, counts[k], p[k]))
		}
	}
	if s := Sum(p); !(math.Abs(s-1) <= normTolerance) {
		panic(fmt.Sprintf("exact: Σp = %v, want 1 within %g", s, normTolerance))
	}
}

func checkRate(rate float64) {
	if !(rate > 0 && rate < 1) {
		panic(fmt.Sprintf("exact: rate = %v, want 0 < rate < 1", rate))
	}
}

func total(counts []int) int {
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

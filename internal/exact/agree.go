package exact

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/stretchr/testify/require"
)

// TB is the part of testing.TB that the checks need. *testing.T, *testing.B, *testing.F and
// *rapid.T implement it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Counts fails the test if independent draws disagree with the distribution p. The entry counts[k]
// is the number of draws of outcome k. The argument rate is the false-positive rate of the test;
// the project uses 1e-6. Counts panics as [PValue] does.
func Counts(tb TB, counts []int, p []float64, rate float64) {
	tb.Helper()
	checkRate(rate)
	if v := PValue(counts, p); v < rate {
		k, c := laws.WorstCell(counts, p)
		tb.Errorf("exact: counts disagree with the law: p-value %.3g < %g; worst cell %d: %d of %d draws, want about %.1f (tail %.3g)",
			v, rate, k, counts[k], laws.Total(counts), float64(laws.Total(counts))*p[k], c)
	}
}

// Transitions fails the test if observed steps of a Markov chain disagree with its transition
// matrix. The entry counts[x][y] is the number of independent steps from x that ended in y. A row
// of counts that is nil or has no steps is skipped. The argument rate is the false-positive rate of
// the whole test, and is divided among the rows that are not skipped.
func Transitions(tb TB, counts [][]int, m *Matrix, rate float64) {
	tb.Helper()
	checkRate(rate)
	if v, x := TransitionsPValue(counts, m); v < rate {
		tb.Errorf("exact: transitions disagree with the matrix: p-value %.3g < %g; worst from state %d", v, rate, x)
	}
}

// TransitionsPValue returns the p-value of the test in [Transitions], and the row of counts with
// the smallest p-value.
func TransitionsPValue(counts [][]int, m *Matrix) (v float64, row int) {
	if len(counts) != m.n {
		panic(fmt.Sprintf("exact: len(counts) = %d, want %d", len(counts), m.n))
	}
	v, tested := 1.0, 0
	for x, c := range counts {
		if laws.Total(c) == 0 {
			continue
		}
		tested++
		if r := PValue(c, m.Row(x)); r < v {
			v, row = r, x
		}
	}
	return min(1, v*float64(max(1, tested))), row
}

// PValue returns the p-value of [laws.PValue]. It is a bound on the probability that independent
// draws from p are at least as far from p as the observed counts.
func PValue(counts []int, p []float64) float64 { return laws.PValue(counts, p) }

// BinomialPValue returns the exact two-sided p-value of k successes for a Binomial(n, p) variable;
// see [laws.BinomialPValue].
func BinomialPValue(k, n int, p float64) float64 { return laws.BinomialPValue(k, n, p) }

func checkRate(rate float64) {
	if !(rate > 0 && rate < 1) {
		panic(fmt.Sprintf("exact: rate = %v, want 0 < rate < 1", rate))
	}
}

// Score checks the score of a model at the states x. The score is the gradient of the negative
// energy. It is compared with finite differences of the energy.
func Score(t Test, m energy.Scored, x []float32) {
	t.Helper()
	n := m.Sites()
	s := make([]float32, len(x))
	m.Score(s, x)
	const h = 1.0 / 128 // a power of two: x ± h is exact
	e := make([]float64, 2)
	for at := range x {
		y := append(append([]float32{}, x[at/n*n:at/n*n+n]...), x[at/n*n:at/n*n+n]...)
		y[at%n] += h
		y[n+at%n] -= h
		m.Energy(e, y)
		// Central differences are wrong by h²/6 of the third derivative.
		require.InDelta(t, -(e[0]-e[1])/(2*h), float64(s[at]), 1e-3)
	}
}

// Bins returns, for each cell of width ½ from −4 to 4, the number of states in x whose first
// coordinate lies in the cell. The outermost cells also count coordinates beyond that range.
func Bins(x []float32, sites int) []int {
	c := make([]int, 16)
	for at := 0; at < len(x); at += sites {
		k := int(math.Floor(2*float64(x[at]))) + 8
		c[min(max(k, 0), len(c)-1)]++
	}
	return c
}

// Binned returns the probabilities of the cells of [Bins]. The argument cdf is the cumulative
// distribution function of the first coordinate.
func Binned(cdf func(x float64) float64) []float64 {
	p := make([]float64, 16)
	for k := range p {
		lo, hi := cdf(float64(k-8)/2), cdf(float64(k-7)/2)
		if k == 0 {
			lo = 0
		}
		if k == len(p)-1 {
			hi = 1
		}
		p[k] = hi - lo
	}
	return p
}

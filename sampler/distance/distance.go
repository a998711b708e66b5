// Package distance measures how far samples are from data. For real-valued series, [Frechet]
// compares Gaussians fitted to two sets of series, and [DTW] compares two single series by dynamic
// time warping. [EnergyScore] compares samples with the observed series, and [Violation] measures
// violated inequalities. For tokens, [MMD] returns the maximum mean discrepancy.
package distance

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// MMD returns an unbiased estimate of the squared maximum mean discrepancy between two
// distributions (Gretton et al. 2012, equation 3). Slice a holds states from the first
// distribution, and slice b holds states from the second. A state has one token per site. The
// kernel is the exponential Hamming kernel of Zhang, Liu and Liu 2022,
//
//	k(x, y) = exp(−H(x, y)/sites),
//
// where H is the number of sites at which x and y differ. The estimate can be negative, because its
// mean is 0 for equal distributions.
//
// Publications often use the biased statistic, which also counts pairs of a state with itself. For
// samples of n and m states, the biased statistic is larger by about (1 − mean k)·(1/n + 1/m).
//
// MMD compares n·m + (n² + m²)/2 pairs of states. It returns an error unless sites ≥ 1 and each
// sample holds at least two whole states.
func MMD(a, b []int32, sites int) (float64, error) {
	if sites < 1 {
		return 0, fmt.Errorf("distance: MMD: sites = %d, want ≥ 1", sites)
	}
	for k, x := range [][]int32{a, b} {
		if len(x)%sites != 0 || len(x)/sites < 2 {
			return 0, fmt.Errorf("distance: MMD: sample %d has %d entries, want a multiple of %d, at least two rows", k, len(x), sites)
		}
	}
	kernel := make([]float64, sites+1)
	for h := range kernel {
		kernel[h] = math.Exp(-float64(h) / float64(sites))
	}
	within := func(x []int32) float64 {
		n, sum := len(x)/sites, 0.0
		for i := range n {
			for j := range i {
				sum += kernel[hamming(x[i*sites:(i+1)*sites], x[j*sites:(j+1)*sites])]
			}
		}
		return 2 * sum / (float64(n) * float64(n-1))
	}
	n, m, cross := len(a)/sites, len(b)/sites, 0.0
	for i := range n {
		for j := range m {
			cross += kernel[hamming(a[i*sites:(i+1)*sites], b[j*sites:(j+1)*sites])]
		}
	}
	return within(a) + within(b) - 2*cross/(float64(n)*float64(m)), nil
}

// hamming returns the number of positions at which x and y differ.
func hamming(x, y []int32) int {
	y = y[:len(x)]
	n := 0
	for i, v := range x {
		if v != y[i] {
			n++
		}
	}
	return n
}

// EnergyScore returns the energy score of a forecast X for an observed series y,
//
//	E‖X − y‖ − ½·E‖X − X′‖,
//
// where X′ is an independent copy of X. Lower is better. The argument samples holds draws of X,
// samples × sites, and truth holds y. The means are over draws and over pairs of different draws,
// so the score is unbiased (Gneiting and Raftery 2007, section 4.2). Its expectation is smallest
// for the distribution from which y is drawn (the score is proper). EnergyScore takes
// samples²·sites/2 operations.
//
// EnergyScore returns an error for fewer than two samples. It panics unless len(truth) = sites and
// sites divides len(samples).
func EnergyScore(samples, truth []float32, sites int) (float64, error) {
	check.Len("distance", "truth", len(truth), sites)
	n := check.Rows("distance", "samples", len(samples), sites)
	if n < 2 {
		return 0, fmt.Errorf("distance: EnergyScore: %d samples, want ≥ 2", n)
	}
	miss, spread := 0.0, 0.0
	for i := range n {
		x := samples[i*sites : (i+1)*sites]
		miss += euclid(x, truth)
		for k := range i {
			spread += euclid(x, samples[k*sites:(k+1)*sites])
		}
	}
	return miss/float64(n) - spread/float64(n)/float64(n-1), nil
}

// euclid returns the Euclidean distance ‖x − y‖.
func euclid(x, y []float32) float64 {
	sum := 0.0
	for i, v := range x {
		d := float64(v) - float64(y[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// Violation measures how much series violate the inequalities g_j ≤ 0 of a set. The slice x holds
// series, each with one entry per site. The first result is Σ_j max(0, g_j), averaged over the
// series. The second is the largest g_j of all series, or 0 if all are negative. Violation panics
// unless sites divides len(x). The sum is computed in float64, in the order of the series.
func Violation(set constraint.Smooth, x []float32, sites int) (mean, worst float64) {
	check.Must("distance: Violation", "set", set)
	series := check.Rows("distance", "x", len(x), sites)
	g := make([]float64, set.Len())
	for s := range series {
		set.Value(g, x[s*sites:(s+1)*sites])
		for _, e := range g {
			mean += max(e, 0)
			worst = max(worst, e)
		}
	}
	return mean / float64(max(1, series)), worst
}

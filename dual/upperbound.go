package dual

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// UpperBound returns the upper confidence limit of a probability, given that an event
// happened in hits of n independent draws: the largest p at which so few have the
// probability delta,
//
//	P(X ≤ hits | n, p) = δ,  X binomial,
//
// so that the limit is too low with probability δ at most, whatever p is (Clopper and
// Pearson 1934). It certifies a constraint on the mean of an indicator, E[1_F] ≤ ε, by
// draws that had no part in finding the multipliers: with no hits it is about 3/n at δ =
// 0.05. It is 1 if all draws are hits.
//
// It returns an error unless 0 ≤ hits ≤ n, n ≥ 1 and 0 < δ < 1.
func UpperBound(hits, n int, delta float64) (float64, error) {
	if n < 1 || hits < 0 || hits > n || !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("dual: UpperBound: hits = %d, n = %d, delta = %v, want 0 ≤ hits ≤ n, n ≥ 1 and 0 < delta < 1", hits, n, delta)
	}
	if hits == n {
		return 1, nil
	}
	low, high := 0.0, 1.0
	for {
		p := low + float64((high-low)/2)
		if p <= low || p >= high {
			return high, nil
		}
		if binomialTail(hits, n, p) > delta {
			low = p
		} else {
			high = p
		}
	}
}

// binomialTail returns P(X ≤ hits | n, p), 0 < p < 1: the sum of the terms from the largest
// index down, in units of that term.
func binomialTail(hits, n int, p float64) float64 {
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	first := choose(n, hits) + float64(float64(hits)*simd.Log(p)) + float64(float64(n-hits)*simd.Log1p(-p))
	odds := (1 - p) / p
	top, term, sum := 0.0, 1.0, 1.0 // in units of e^(first + top)
	for i := hits; i > 0; i-- {
		term = float64(term * odds * float64(i) / float64(n-i+1))
		sum += term
		if sum > 1e100 {
			top += simd.Log(sum)
			term /= sum
			sum = 1
		}
	}
	return simd.Exp(first + top + simd.Log(sum))
}

package dual

import (
	"fmt"

	"gonum.org/v1/gonum/mathext"
)

// UpperBound returns the upper confidence limit for the probability of an event (Clopper and
// Pearson 1934). The argument n is the number of independent draws, and hits is the number of draws
// in which the event occurred. The limit is the probability p for which
//
//	P(X ≤ hits | n, p) = δ,
//
// where X is binomial and δ is the argument delta. The limit is too low with probability at most δ.
// The draws must not be those used to find the multipliers. With hits = 0 the limit is about 3/n at
// δ = 0.05. With hits = n the limit is 1.
//
// UpperBound returns an error unless 0 ≤ hits ≤ n, n ≥ 1 and 0 < δ < 1.
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
		if mathext.RegIncBeta(float64(n-hits), float64(hits+1), 1-p) > delta { // P(X ≤ hits | n, p)
			low = p
		} else {
			high = p
		}
	}
}

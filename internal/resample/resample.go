// Package resample resamples weighted particles.
package resample

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Moments returns the largest log-weight top of w, Σ e^{w−top} and Σ e^{2(w−top)}. At
// least one entry of w must be finite.
func Moments(w []float64) (top, sum, squares float64) {
	top = slices.Max(w)
	for _, l := range w {
		v := simd.Exp(l - top)
		sum += v
		squares += float64(v * v)
	}
	return top, sum, squares
}

// Systematic stores in count how many copies of each particle to make: for particle j
// the number of the points (u+k)/n, k = 0 … n−1, u in [0, 1), that fall into its share
// of the cumulative weights e^w. Every particle gets its expected number of copies,
// rounded up or down.
func Systematic(count []int, w []float64, u float64) {
	clear(count)
	n := len(w)
	top, sum, _ := Moments(w)
	next := float64(u * sum)
	k, reached, last := 0, 0.0, -1
	for j, l := range w {
		v := simd.Exp(l - top)
		if v <= 0 {
			continue
		}
		last = j
		reached += float64(v * float64(n))
		for k < n && next+float64(float64(k)*sum) < reached {
			count[j]++
			k++
		}
	}
	count[last] += n - k // points lost to rounding at the very end
}

// Spread makes the copies that count asks for: it calls replace with each particle of which
// there shall be none and one of which there shall be more. It changes count.
func Spread(count []int, replace func(none, more int)) {
	from := 0
	for to, n := range count {
		if n > 0 {
			continue
		}
		for count[from] < 2 {
			from++
		}
		count[from]--
		replace(to, from)
	}
}

// ByWeight returns the index in whose share of the cumulative weights e^w the point u in
// [0, 1) falls.
func ByWeight(w []float64, u float64) int {
	top, sum, _ := Moments(w)
	goal := float64(u * sum)
	reached, last := 0.0, -1
	for j, l := range w {
		if v := simd.Exp(l - top); v > 0 {
			last = j
			if reached += v; reached > goal {
				break
			}
		}
	}
	return last
}

// LeastCap returns the log of the least c with Σ(W−c)₊ ≤ share·ΣW. w holds the logarithms
// of W, of which at least one must be finite, and share is in (0, 1).
func LeastCap(logW []float64, share float64) float64 {
	w := slices.Sorted(slices.Values(logW))
	top, total := w[len(w)-1], 0.0
	for i, l := range w {
		w[i] = simd.Exp(l - top)
		total += w[i]
	}
	above := 0.0 // weight of those above c
	for n := 1; ; n++ {
		above += w[len(w)-n]
		// With n above c the excess is above − n·c.
		c := (above - float64(share*total)) / float64(n)
		if n == len(w) || c >= w[len(w)-n-1] {
			return top + simd.Log(c)
		}
	}
}

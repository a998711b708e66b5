// Package resample selects particles according to their weights. Particles are the weighted samples
// of a particle method.
package resample

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Moments returns three numbers for the log-weights w: the largest one (top), Σ e^{w−top} and Σ
// e^{2(w−top)}. At least one entry of w must be finite.
func Moments(w []float64) (top, sum, squares float64) {
	top = slices.Max(w)
	for _, l := range w {
		v := simd.Exp(l - top)
		sum += v
		squares += float64(v * v)
	}
	return top, sum, squares
}

// Systematic stores in count[j] the number of copies of particle j in systematic resampling, given
// the log-weights w of n particles. The interval [0, 1) is divided among the particles in
// proportion to their weights e^w. Given u in [0, 1), count[j] is the number of points (u+k)/n, k =
// 0 … n−1, in the interval of particle j. Every particle gets its expected number of copies,
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
	count[last] += n - k // points lost to rounding at the end
}

// Spread replaces particles so that count[j] copies of each particle j exist. For each particle i
// with count[i] = 0, it chooses a particle j with too few copies and calls replace(i, j). This call
// must replace particle i by a copy of particle j. Spread modifies the slice count.
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

// ByWeight chooses a particle with probability proportional to its weight e^w, given a uniform
// number u in [0, 1). The interval [0, 1) is divided among the particles in proportion to their
// weights. ByWeight returns the particle whose part of the interval contains u.
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

// LeastCap returns log c for the smallest cap c on weights W that cuts off at most the given share
// of their sum:
//
//	Σ max(0, W−c) ≤ share·ΣW.
//
// The slice logW holds the logarithms of W, of which at least one must be finite. The share must be
// in (0, 1).
func LeastCap(logW []float64, share float64) float64 {
	w := slices.Sorted(slices.Values(logW))
	top, total := w[len(w)-1], 0.0
	for i, l := range w {
		w[i] = simd.Exp(l - top)
		total += w[i]
	}
	above := 0.0 // sum of the weights above c
	for n := 1; ; n++ {
		above += w[len(w)-n]
		// With n weights above c the excess is above − n·c.
		c := (above - float64(share*total)) / float64(n)
		if n == len(w) || c >= w[len(w)-n-1] {
			return top + simd.Log(c)
		}
	}
}

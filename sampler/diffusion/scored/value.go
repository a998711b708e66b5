package scored

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

const (
	// least is the smallest value of a candidate: one that looks hopeless can
	// still be taken, where all others look so too.
	least = 1e-9

	// narrow is the least deviation within candidates, relative to the spread
	// of all scores.
	narrow = 1e-3

	// defence is the share of the value that all candidates have in common in
	// exact sampling: it bounds every factor of a weight by 1/defence. Without
	// it the effective number of paths is 1–4 %.
	defence = 0.1
)

// promise stores in psi what n completions of each candidate promise: the share of
// feasible ones, smoothed by the normal distribution with the mean of the candidate
// and the deviation pooled over all,
//
//	ψ_v = max(1e-9, (#{S_vm ≤ 0} + Φ(−mean_v/sd))/(n+1)).
func promise(psi, s []float64, n int) {
	sd := deviation(s, n)
	for k := range psi {
		own := s[k*n : (k+1)*n]
		total, mean, finite := 0.0, 0.0, 0
		for _, v := range own {
			if v <= 0 {
				total++
			}
			if !math.IsInf(v, 0) {
				mean += v
				finite++
			}
		}
		if finite > 0 {
			total += float64(phi(distance(mean/float64(finite), sd)) * float64(finite) / float64(n))
		}
		psi[k] = max(least, total/float64(n+1))
	}
}

// distance is −mean/sd, ±Inf where sd is 0.
func distance(mean, sd float64) float64 {
	switch {
	case sd > 0:
		return -mean / sd
	case mean <= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// soften stores in psi the mean of e^{−max(0, S)/Θ} over the n completions of each
// candidate, with Θ = ½·sd·left/sites, left the masks that stay.
func soften(psi, s []float64, n, left, sites int) {
	theta := float64(deviation(s, n)*float64(left)) / float64(2*sites)
	for k := range psi {
		total := 0.0
		for _, v := range s[k*n : (k+1)*n] {
			switch {
			case v <= 0:
				total++
			case theta > 0:
				total += simd.Exp(-v / theta)
			}
		}
		psi[k] = max(least, total/float64(n+1))
	}
}

// defend gives every value its share of the mean under the prior.
func defend(psi, prior []float64) {
	mean := 0.0
	for k, v := range psi {
		mean += float64(prior[k] * v)
	}
	for k, v := range psi {
		psi[k] = float64((1-defence)*v) + float64(defence*mean)
	}
}

// deviation is the standard deviation of finite scores within candidates of n
// completions each, at least a thousandth of the spread of all.
func deviation(s []float64, n int) float64 {
	lowest, highest := math.Inf(1), math.Inf(-1)
	squares, free := 0.0, 0
	for ; len(s) >= n; s = s[n:] {
		mean, finite := 0.0, 0
		for _, v := range s[:n] {
			if !math.IsInf(v, 0) {
				mean += v
				finite++
			}
		}
		if finite == 0 {
			continue
		}
		mean /= float64(finite)
		free += finite - 1
		for _, v := range s[:n] {
			if !math.IsInf(v, 0) {
				lowest, highest = min(lowest, v), max(highest, v)
				squares += float64((v - mean) * (v - mean))
			}
		}
	}
	if highest <= lowest {
		return 0 // all the same, or nothing finite
	}
	return max(math.Sqrt(squares/float64(max(1, free))), float64(narrow*(highest-lowest)))
}

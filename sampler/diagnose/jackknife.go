package diagnose

import (
	"math"
)

// jackknife returns the standard error of g from the means without each part.
func jackknife(moved [][]float64, g func(mean []float64) float64) float64 {
	n := float64(len(moved))
	v := make([]float64, len(moved))
	mean := 0.0
	for u, m := range moved {
		v[u] = g(m)
		mean += v[u] / n
	}
	sum := 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum * (n - 1) / n)
}

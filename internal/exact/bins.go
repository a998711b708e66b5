package exact

import "math"

// Bins counts the first coordinates of the states by cells of width ½.
func Bins(x []float32, sites int) []int {
	c := make([]int, 16)
	for at := 0; at < len(x); at += sites {
		k := int(math.Floor(2*float64(x[at]))) + 8
		c[min(max(k, 0), len(c)-1)]++
	}
	return c
}

// Binned returns the probabilities of these cells from a distribution function.
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

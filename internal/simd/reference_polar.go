package simd

import "math"

// refPolar is the definition, in plain Go, of the bits that every backend gives.
func refPolar(r []float64) {
	for i, v := range r {
		r[i] = math.Sqrt(float64(-2*Log(v)) / v)
	}
}

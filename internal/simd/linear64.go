package simd

// Dot64 returns Σ_i x[i]·y[i], every operation rounded to float64: sixteen entries at a
// time in as many lanes, which are added in halves, and then what is left. It panics
// unless len(y) = len(x).
func Dot64(x, y []float64) float64 {
	checkLen("y", len(y), len(x))
	return dot64(x, y)
}

// Axpy64 adds a·x to y, every operation rounded to float64. It panics unless
// len(y) = len(x).
func Axpy64(a float64, x, y []float64) {
	checkLen("y", len(y), len(x))
	axpy64(a, x, y)
}

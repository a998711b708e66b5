package simd

// Inner returns Σ_i w[i]·x[i], every operation rounded to float64, in the lanes of
// [Dot64]. It panics unless len(w) = len(x).
func Inner(w []float64, x []float32) float64 {
	checkLen("w", len(w), len(x))
	return inner(w, x)
}

// Gap returns Σ_i (x[i] − s·y[i])², every operation rounded to float64, in the lanes of
// [Dot64]. It panics unless len(y) = len(x).
func Gap(x, y []float32, s float64) float64 {
	checkLen("y", len(y), len(x))
	return gap(x, y, s)
}

// AddWide adds a·x to dst, every operation rounded to float64. It panics unless
// len(dst) = len(x).
func AddWide(dst []float64, a float64, x []float32) {
	checkLen("dst", len(dst), len(x))
	addWide(dst, a, x)
}

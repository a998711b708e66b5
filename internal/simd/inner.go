package simd

// Inner returns Σ_i w[i]·x[i], every operation rounded to float64, in four sums, which
// wait for each other less than one. It panics unless len(w) = len(x).
func Inner(w []float64, x []float32) float64 {
	checkLen("w", len(w), len(x))
	var s0, s1, s2, s3 float64
	for len(w) >= 4 && len(x) >= 4 {
		s0 += float64(w[0] * float64(x[0]))
		s1 += float64(w[1] * float64(x[1]))
		s2 += float64(w[2] * float64(x[2]))
		s3 += float64(w[3] * float64(x[3]))
		w, x = w[4:], x[4:]
	}
	for i, v := range x {
		s0 += float64(w[i] * float64(v))
	}
	return (s0 + s1) + (s2 + s3)
}

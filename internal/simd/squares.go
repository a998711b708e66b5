package simd

import "fmt"

// Squares stores weighted squared distances of x from the rows of m,
//
//	dst[k] = Σ_i w[k·n + i]·(x[i] − m[k·n + i])²,
//
// every operation rounded to float64, the sum in 16 lanes. It panics unless
// n = len(x) is a positive multiple of 16 and m and w have a row for each entry of
// dst. A weight and a mean of 0 pad what is shorter.
func Squares(dst, x, m, w []float64) {
	checkPadded(len(x))
	checkLen("m", len(m), len(dst)*len(x))
	checkLen("w", len(w), len(m))
	if len(dst) > 0 {
		squares(dst, x, m, w)
	}
}

// Attract adds to dst the gradient of a distance of [Squares]: dst[i] += p·(m[i] − x[i])·w[i],
// every operation rounded to float64. It panics unless all have the same
// length, a positive multiple of 16.
func Attract(dst, x, m, w []float64, p float64) {
	checkPadded(len(x))
	checkLen("dst", len(dst), len(x))
	checkLen("m", len(m), len(x))
	checkLen("w", len(w), len(x))
	attract(dst, x, m, w, p)
}

func checkPadded(n int) {
	if n < 1 || n%lanes != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, want a positive multiple of 16", n))
	}
}

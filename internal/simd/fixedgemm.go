package simd

// Gemm stores a product, shifted, in the m rows of c:
//
//	c[i,j] = origin_j + u_j·Σ_l 2⁻¹³·a[i,l]·B[l,j],
//
// the sum exact for |a| ≤ 2¹² (otherwise modulo 2³²), rounded to float32, and rounded
// again with origin. Rows of a are of [Fixed.Words] entries. It panics unless len(c) = m·n
// and len(a) = m·Words.
func (f *Fixed) Gemm(c []float32, a []int16, m int) {
	checkLen("c", len(c), m*f.n)
	checkLen("a", len(a), m*f.Words())
	fixedGemm(c, a, f, m)
}

// LogisticWords stores σ(src[i]) − ½, with σ as of [SigmoidTo], in units of 2⁻¹³: the
// nearest integer, −2¹² … 2¹², and 0 for NaN. It panics unless len(dst) = len(src).
func LogisticWords(dst []int16, src []float32) {
	checkLen("dst", len(dst), len(src))
	logisticWords(dst, src)
}

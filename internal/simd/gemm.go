package simd

// Gemm adds a matrix product: c += a·b with a of m×k, b of k×n and c of m×n
// entries, all row-major.
//
// Every c[i,j] takes its terms in ascending order of k, whatever m and n are,
// so that a row of the result depends on that row of c and a, and on b, alone.
// Backends may fuse multiplication and addition: results are reproducible per
// backend and differ between them by rounding, at most k·2⁻²³·Σ|a·b| per entry.
//
// c may not overlap a or b. It panics unless the lengths are m·n, m·k and k·n.
func Gemm(c, a, b []float32, m, n, k int) {
	checkGemm(c, a, b, m, n, k)
	gemm(c, a, b, m, n, k)
}

// Pack returns b for products. It keeps b, which must not change. It panics unless len(b) = k·n.
func Pack(b []float32, n, k int) *Packed {
	checkLen("b", len(b), k*n)
	p := &Packed{b: b, n: n, k: k}
	p.panels, p.width = packPanels(b, n, k)
	return p
}

// Gemm is [Gemm] with the packed factor, the same bits included: c += a·b with a of m×k
// and c of m×n entries. It panics unless the lengths are these.
func (p *Packed) Gemm(c, a []float32, m int) {
	checkGemm(c, a, p.b, m, p.n, p.k)
	gemmPacked(c, a, p.b, p.panels, m, p.n, p.k, p.width)
}

// GemmT adds a matrix product with a transposed factor: c += a·bᵀ with a of m×k,
// b of n×k and c of m×n entries, all row-major. The order of terms, the
// rounding and the panics are those of [Gemm].
func GemmT(c, a, b []float32, m, n, k int) {
	checkGemm(c, a, b, m, n, k)
	gemmT(c, a, b, m, n, k)
}

//go:build amd64 && !purego

package simd

// sparseTerms bounds one call: up to 1 ns a term.
const sparseTerms = 1 << 15

func sparseField(dst []float64, start, adj []int32, w []float64, x []int32) {
	for len(dst) > 0 {
		rows := 1
		for rows < len(dst) && int(start[rows+1]-start[0]) <= sparseTerms && rows < 4096 {
			rows++
		}
		sparseRun(dst[:rows], start, adj, w, x)
		dst, start = dst[rows:], start[rows:]
	}
}

//go:noinline
func sparseRun(dst []float64, start, adj []int32, w []float64, x []int32) {
	terms := int(start[len(dst)] - start[0])
	switch {
	case best == purego || terms == 0 || terms > sparseTerms:
		refSparseField(dst, start, adj, w, x)
	case best == avx512:
		sparseAVX512(&dst[0], &start[0], &adj[0], &w[0], &x[0], len(dst))
	default:
		sparseAVX2(&dst[0], &start[0], &adj[0], &w[0], &x[0], len(dst))
	}
}

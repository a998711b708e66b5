package simd

// The definitions, in plain Go, of the bits that every backend of sparse.go gives.

func refSparseField(dst []float64, start, adj []int32, w []float64, x []int32) {
	for i := range dst {
		from, to := start[i], start[i+1]
		var lane [lanes]float64
		for k, j := range adj[from:to] {
			lane[k%lanes] += float64(w[int(from)+k] * float64(x[j]))
		}
		dst[i] = halve(&lane)
	}
}

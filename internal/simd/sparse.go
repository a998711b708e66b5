package simd

import (
	"fmt"
)

// SparseField multiplies a sparse matrix in compressed rows by a state x: entry i of dst is
//
//	Σ_k w[k]·x[adj[k]],  start[i] ≤ k < start[i+1],
//
// in float64, with rounded products. The terms of a row are summed in 16 lanes as in [Sum]. If w
// holds the couplings of a graph, these sums are its local fields. They are exact if w holds
// integers. Indices in adj must be valid; they are not checked. SparseField panics unless
// len(start) = len(dst)+1, start does not decrease from start[0] ≥ 0, len(adj) = len(w) and start
// stays within adj.
func SparseField(dst []float64, start, adj []int32, w []float64, x []int32) {
	checkLen("start", len(start), len(dst)+1)
	checkLen("adj", len(adj), len(w))
	last := int32(0)
	for i, s := range start {
		if s < last || int(s) > len(w) {
			panic(fmt.Sprintf("simd: start[%d] = %d, want %d to %d", i, s, last, len(w)))
		}
		last = s
	}
	for len(dst) > 0 {
		rows := 1
		for rows < len(dst) && int(start[rows+1]-start[0]) <= sparseTerms && rows < 4096 {
			rows++
		}
		sparse(dst[:rows], start, adj, w, x)
		dst, start = dst[rows:], start[rows:]
	}
}

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

// sparseTerms is the largest number of terms in one call, at up to 1 ns each.
const sparseTerms = 1 << 15

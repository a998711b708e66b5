package simd

// The definitions, in plain Go, of the bits that every backend of entropy.go gives.

// refEntropy adds p_i·(w_i−m) to the lanes. Backends may destroy p.
func refEntropy(lane *[lanes]float64, p, w []float32, m float32) {
	for i, pi := range p {
		if pi != 0 {
			lane[i%lanes] += float64(pi * (w[i] - m))
		}
	}
}

// refEntropyRows stores the sums of the lanes of refEntropy, from 0, for each row.
func refEntropyRows(sum []float64, p, w, m []float32, cols int) {
	for r := range sum {
		from, to := r*cols, (r+1)*cols
		var lane [lanes]float64
		refEntropy(&lane, p[from:to], w[from:to], m[r])
		sum[r] = halve(&lane)
	}
}

package simd

// Entropy stores the entropy in nats of the distribution of each row of
// log-weights,
//
//	H = log Z − Σ p_i·(w_i−m)/Z,  p the [Weights] of the row, Z their total,
//
// with float32 terms summed in 16 lanes of float64; terms of weight 0 are 0. NaN
// for a row without weight or with NaN or +Inf. The error is below 1e−6·(1+H).
// It panics unless cols ≥ 1 and len(w) = len(dst)·cols.
func Entropy(dst []float64, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w)/cols)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(dst) > 0 {
		r := perCall(len(dst), cols)
		n := r * cols
		if cols > scratchTerms {
			s.z[0], s.sum[0] = longEntropy(&s.p, w[:n])
		} else {
			weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
			entropyRows(s.sum[:r], s.p[:n], w[:n], s.max[:r], cols)
		}
		for i, sum := range s.sum[:r] {
			dst[i] = Log(s.z[i]) - float64(sum/s.z[i])
		}
		dst, w = dst[r:], w[n:]
	}
}

// longEntropy returns the total of one row longer than the scratch p, and the sum of
// refEntropy.
func longEntropy(p *[scratchTerms]float32, w []float32) (total, sum float64) {
	var lane [lanes]float64
	m := longMax(w)
	for i := 0; i < len(w); i += len(p) {
		n := min(len(p), len(w)-i)
		weightSegment(p[:n], w[i:i+n], m, 0, &total)
		entropy(&lane, p[:n], w[i:i+n], m)
	}
	return total, halve(&lane)
}

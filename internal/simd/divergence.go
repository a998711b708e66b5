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
	divergence(dst, w, nil, cols)
}

// KL stores the Kullback-Leibler divergence in nats between the distributions of
// two rows of log-weights, D(softmax(v) ‖ softmax(w)):
//
//	D = Σ p_i·((v_i−m_v) − (w_i−m_w))/Z_v − log Z_v + log Z_w,
//
// summed like [Entropy]. +Inf where v has weight and w has none, NaN for a row
// without weight or with NaN or +Inf. Rounding leaves an error below
// 1e−6·(1 + largest |difference|); it may make D negative. It panics unless
// cols ≥ 1, len(v) = len(w) = len(dst)·cols.
func KL(dst []float64, v, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("v", len(v), len(w))
	checkLen("dst", len(dst), len(w)/cols)
	divergence(dst, v, w, cols)
}

// divergence is KL, or Entropy if w is nil.
func divergence(dst []float64, v, w []float32, cols int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(dst) > 0 {
		r := perCall(len(dst), cols)
		n := r * cols
		var u []float32
		if w != nil {
			u = w[:n]
			rowTotals(&s.p, u, s.other[:r], s.y[:r], cols)
		}
		if cols > scratchTerms {
			s.max[0], s.z[0], s.sum[0] = longCross(&s.p, v[:n], u, s.other[0])
		} else {
			weightRows(s.p[:n], v, s.max[:r], s.z[:], cols, 0)
			crossRows(s.sum[:r], s.p[:n], v[:n], u, s.max[:r], s.other[:r], cols)
		}
		for i, sum := range s.sum[:r] {
			mean, log := float64(sum/s.z[i]), Log(s.z[i])
			if w == nil {
				dst[i] = log - mean
			} else {
				dst[i] = mean - (log - Log(s.y[i]))
			}
		}
		dst, v, w = dst[r:], v[n:], slice(w, n, len(w))
	}
}

// rowTotals stores the maxima and totals of rows; p is scratch.
func rowTotals(p *[scratchTerms]float32, w, maxes []float32, total []float64, cols int) {
	if cols <= scratchTerms {
		weightRows(p[:len(w)], w, maxes, total, cols, 0)
		return
	}
	maxes[0], total[0] = longMax(w), 0
	for ; len(w) > 0; w = w[min(len(w), scratchTerms):] {
		n := min(len(w), scratchTerms)
		weightSegment(p[:n], w[:n], maxes[0], 0, &total[0])
	}
}

// longCross returns the maximum and the total of one row v longer than the
// scratch p, and the sum of refCross.
func longCross(p *[scratchTerms]float32, v, w []float32, mw float32) (mv float32, total, sum float64) {
	var lane [lanes]float64
	mv = longMax(v)
	for i := 0; i < len(v); i += len(p) {
		n := min(len(p), len(v)-i)
		weightSegment(p[:n], v[i:i+n], mv, 0, &total)
		cross(&lane, p[:n], v[i:i+n], slice(w, i, i+n), mv, mw)
	}
	return mv, total, halve(&lane)
}

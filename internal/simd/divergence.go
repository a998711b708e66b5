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
	var p [scratchTerms]float32
	for r := range dst {
		row := w[r*cols : (r+1)*cols]
		total, sum := crossSum(&p, row, nil)
		dst[r] = Log(total) - float64(sum/total)
	}
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
	var p [scratchTerms]float32
	for r := range dst {
		from, to := v[r*cols:(r+1)*cols], w[r*cols:(r+1)*cols]
		zv, sum := crossSum(&p, from, to)
		dst[r] = float64(sum/zv) - (Log(zv) - Log(longWeights(&p, to)))
	}
}

// crossSum returns the total of the weights of v and the sum of weight times
// log-weight: of v, less that of w unless w is nil. p is scratch.
func crossSum(p *[scratchTerms]float32, v, w []float32) (total, sum float64) {
	var lane [lanes]float64
	mv, mw := longMax(v), float32(0)
	if w != nil {
		mw = longMax(w)
	}
	for i := 0; i < len(v); i += len(p) {
		n := min(len(p), len(v)-i)
		weightSegment(p[:n], v[i:i+n], mv, 0, &total)
		if w == nil {
			cross(&lane, p[:n], v[i:i+n], nil, mv, 0)
		} else {
			cross(&lane, p[:n], v[i:i+n], w[i:i+n], mv, mw)
		}
	}
	return total, halve(&lane)
}

// longWeights returns the total of the weights of a row. p is scratch.
func longWeights(p *[scratchTerms]float32, w []float32) (total float64) {
	m := longMax(w)
	for i := 0; i < len(w); i += len(p) {
		n := min(len(p), len(w)-i)
		weightSegment(p[:n], w[i:i+n], m, 0, &total)
	}
	return total
}

// refCross adds p_i·((v_i−mv) − (w_i−mw)), without w if it is nil, to the lanes.
func refCross(lane *[lanes]float64, p, v, w []float32, mv, mw float32) {
	for i, pi := range p {
		if pi == 0 {
			continue
		}
		d := v[i] - mv
		if w != nil {
			d -= w[i] - mw
		}
		lane[i%lanes] += float64(pi * d)
	}
}

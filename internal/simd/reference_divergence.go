package simd

// The definitions, in plain Go, of the bits that every backend of divergence.go gives.

// slice is w[from:to], nil if w is.
func slice(w []float32, from, to int) []float32 {
	if w == nil {
		return nil
	}
	return w[from:to]
}

// refCross adds p_i·((v_i−mv) − (w_i−mw)), without w if it is nil, to the lanes. Backends
// may destroy p.
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

// refCrossRows stores the sums of the lanes of refCross, from 0, for each row.
func refCrossRows(sum []float64, p, v, w, mv, mw []float32, cols int) {
	for r := range sum {
		from, to := r*cols, (r+1)*cols
		var lane [lanes]float64
		refCross(&lane, p[from:to], v[from:to], slice(w, from, to), mv[r], mw[r])
		sum[r] = halve(&lane)
	}
}

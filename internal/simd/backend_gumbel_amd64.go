//go:build amd64 && !purego

package simd

func gumbel(dst []float32, bits []uint32) {
	if best == purego {
		refGumbel(dst, bits)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), runTerms)
		gumbelRun(dst[:n], bits)
		dst, bits = dst[n:], bits[n:]
	}
}

//go:noinline
func gumbelRun(dst []float32, bits []uint32) {
	if best == avx512 {
		gumbelAVX512(&dst[0], &bits[0], len(dst))
	} else {
		gumbelAVX2(&dst[0], &bits[0], len(dst))
	}
}

// race and cross get at most 4096 terms, at least one.
//
//go:noinline
func race(p []float32, bits []uint32) {
	switch best {
	case purego:
		refRace(p, bits)
	case avx2:
		raceAVX2(&p[0], &bits[0], len(p))
	default:
		raceAVX512(&p[0], &bits[0], len(p))
	}
}

//go:noinline
func cross(lane *[lanes]float64, p, v, w []float32, mv, mw float32) {
	switch {
	case best == purego:
		refCross(lane, p, v, w, mv, mw)
	case best == avx512 && w == nil:
		entropyAVX512(lane, &p[0], &v[0], nil, mv, mw, len(p))
	case best == avx512:
		crossAVX512(lane, &p[0], &v[0], &w[0], mv, mw, len(p))
	case w == nil:
		entropyAVX2(lane, &p[0], &v[0], nil, mv, mw, len(p))
	default:
		crossAVX2(lane, &p[0], &v[0], &w[0], mv, mw, len(p))
	}
}

//go:noinline
func crossRows(sum []float64, p, v, w, mv, mw []float32, cols int) {
	switch {
	case best == purego:
		refCrossRows(sum, p, v, w, mv, mw, cols)
	case best == avx512 && w == nil:
		entropyRowsAVX512(&sum[0], &p[0], &v[0], nil, &mv[0], nil, len(sum), cols)
	case best == avx512:
		crossRowsAVX512(&sum[0], &p[0], &v[0], &w[0], &mv[0], &mw[0], len(sum), cols)
	case w == nil:
		entropyRowsAVX2(&sum[0], &p[0], &v[0], nil, &mv[0], nil, len(sum), cols)
	default:
		crossRowsAVX2(&sum[0], &p[0], &v[0], &w[0], &mv[0], &mw[0], len(sum), cols)
	}
}

func perturb(y, w, noise []float32, scale float32) {
	if best == purego {
		refPerturb(y, w, noise, scale)
		return
	}
	for len(y) > 0 {
		n := min(len(y), runTerms)
		perturbRun(y[:n], w, noise, scale)
		y, w, noise = y[n:], w[n:], noise[n:]
	}
}

//go:noinline
func perturbRun(y, w, noise []float32, scale float32) {
	if best == avx512 {
		perturbAVX512(&y[0], &w[0], &noise[0], scale, len(y))
	} else {
		perturbAVX2(&y[0], &w[0], &noise[0], scale, len(y))
	}
}

func pull(dst, y, d []float32, mean, scale float32) {
	if best == purego {
		refPull(dst, y, d, mean, scale)
		return
	}
	for len(y) > 0 {
		n := min(len(y), runTerms)
		pullRun(dst, y[:n], d, mean, scale)
		dst, y, d = dst[n:], y[n:], d[n:]
	}
}

//go:noinline
func pullRun(dst, y, d []float32, mean, scale float32) {
	if best == avx512 {
		pullAVX512(&dst[0], &y[0], &d[0], mean, scale, len(y))
	} else {
		pullAVX2(&dst[0], &y[0], &d[0], mean, scale, len(y))
	}
}

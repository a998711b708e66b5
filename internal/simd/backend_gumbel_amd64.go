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

// entropy and entropyRows get at most scratchTerms terms, at least one.
//
//go:noinline
func entropy(lane *[lanes]float64, p, w []float32, m float32) {
	switch best {
	case purego:
		refEntropy(lane, p, w, m)
	case avx2:
		entropyAVX2(lane, &p[0], &w[0], m, len(p))
	default:
		entropyAVX512(lane, &p[0], &w[0], m, len(p))
	}
}

//go:noinline
func entropyRows(sum []float64, p, w, m []float32, cols int) {
	switch best {
	case purego:
		refEntropyRows(sum, p, w, m, cols)
	case avx2:
		entropyRowsAVX2(&sum[0], &p[0], &w[0], &m[0], len(sum), cols)
	default:
		entropyRowsAVX512(&sum[0], &p[0], &w[0], &m[0], len(sum), cols)
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

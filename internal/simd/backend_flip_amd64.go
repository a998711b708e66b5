//go:build amd64 && !purego

package simd

//go:noinline
func flipThresholdsRun(t []int32, h []float32, x []int32, beta float32, c []float32) {
	step := min(len(c)-1, 1)
	if best == avx512 {
		flipThresholdsAVX512(&t[0], &h[0], &x[0], beta, &c[0], step, len(t))
	} else {
		flipThresholdsAVX2(&t[0], &h[0], &x[0], beta, &c[0], step, len(t))
	}
}

//go:noinline
func flipDrawRun(out *[5]uint64, y, x, t []int32, bits []uint32) {
	if best == avx512 {
		flipDrawAVX512(out, &y[0], &x[0], &t[0], &bits[0], len(t))
	} else {
		flipDrawAVX2(out, &y[0], &x[0], &t[0], &bits[0], len(t))
	}
}

//go:noinline
func flipScoreRun(out *[5]uint64, y, x, t []int32) {
	if best == avx512 {
		flipScoreAVX512(out, &y[0], &x[0], &t[0], len(t))
	} else {
		flipScoreAVX2(out, &y[0], &x[0], &t[0], len(t))
	}
}

//go:noinline
func sigmoidRun(dst, src []float32) {
	if best == avx512 {
		sigmoidAVX512(&dst[0], &src[0], len(dst))
	} else {
		sigmoidAVX2(&dst[0], &src[0], len(dst))
	}
}

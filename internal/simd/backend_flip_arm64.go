//go:build arm64 && !purego

package simd

//go:noinline
func flipThresholdsRun(t []int32, h []float32, x []int32, beta float32, c []float32) {
	flipThresholdsNEON(&t[0], &h[0], &x[0], beta, &c[0], min(len(c)-1, 1), len(t))
}

//go:noinline
func flipDrawRun(out *[5]uint64, y, x, t []int32, bits []uint32) {
	flipDrawNEON(out, &y[0], &x[0], &t[0], &bits[0], len(t))
}

//go:noinline
func flipScoreRun(out *[5]uint64, y, x, t []int32) {
	flipScoreNEON(out, &y[0], &x[0], &t[0], len(t))
}

//go:noinline
func sigmoidRun(dst, src []float32) { sigmoidNEON(&dst[0], &src[0], len(dst)) }

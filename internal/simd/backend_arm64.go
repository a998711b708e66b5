//go:build arm64 && !purego

package simd

//go:noinline
func philoxRun(dst []uint32, keys *[2 * philoxRnds]uint32, stream, counter uint64) {
	philoxNEON(&dst[0], len(dst)/GroupWords, keys, counter, stream)
}

//go:noinline
func unit32Run(dst []float32, bits []uint32) {
	n := len(dst) &^ 15
	if n > 0 {
		unit32NEON(&dst[0], &bits[0], n)
	}
	refUnit32(dst[n:], bits[n:len(dst)])
}

//go:noinline
func unit64Run(dst []float64, bits []uint32) { unit64NEON(&dst[0], &bits[0], len(dst)) }

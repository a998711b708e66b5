//go:build amd64 && !purego

package simd

//go:noinline
func philoxRun(dst []uint32, keys *[2 * philoxRnds]uint32, stream, counter uint64) {
	if best == avx512 {
		philoxAVX512(&dst[0], len(dst)/GroupWords, keys, counter, stream)
	} else {
		philoxAVX2(&dst[0], len(dst)/GroupWords, keys, counter, stream)
	}
}

//go:noinline
func unit32Run(dst []float32, bits []uint32) {
	if best == avx512 {
		unit32AVX512(&dst[0], &bits[0], len(dst))
	} else {
		unit32AVX2(&dst[0], &bits[0], len(dst))
	}
}

//go:noinline
func unit64Run(dst []float64, bits []uint32) {
	if best == avx512 {
		unit64AVX512(&dst[0], &bits[0], len(dst))
	} else {
		unit64AVX2(&dst[0], &bits[0], len(dst))
	}
}

func (c *Counts) words() *[3][512]uint64 { return (*[3][512]uint64)(c) }

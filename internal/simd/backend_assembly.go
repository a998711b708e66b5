//go:build (amd64 || arm64) && !purego

package simd

// The functions of the backends choose who serves a kernel. A function in
// assembly cannot be stopped by the scheduler, so it gets at most tens of
// microseconds of work per call, and is called from functions that
// are not inlined: their prologue is where a waiting garbage collector stops
// them. What the backends share cuts the work; the files of an architecture call
// its assembly.

func philox(dst []uint32, key, stream, group uint64) {
	if best == purego {
		refPhilox(dst, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	for len(dst) > 0 {
		n := min(len(dst)/GroupWords, runGroups)
		philoxRun(dst[:n*GroupWords], &keys, stream, group*16)
		dst = dst[n*GroupWords:]
		group += uint64(n)
	}
}

func unit32(dst []float32, bits []uint32) {
	if best == purego {
		refUnit32(dst, bits)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), runTerms)
		unit32Run(dst[:n], bits)
		dst, bits = dst[n:], bits[n:]
	}
}

func unit64(dst []float64, bits []uint32) {
	for best != purego && len(dst) >= 8 {
		n := min(len(dst)&^7, runTerms)
		unit64Run(dst[:n], bits)
		dst, bits = dst[n:], bits[2*n:]
	}
	refUnit64(dst, bits)
}

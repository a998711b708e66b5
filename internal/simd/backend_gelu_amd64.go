//go:build amd64 && !purego

package simd

func gelu(dst, src []float32) {
	if best == purego {
		refGELU(dst, src)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), runTerms)
		geluRun(dst[:n], src)
		dst, src = dst[n:], src[n:]
	}
}

//go:noinline
func geluRun(dst, src []float32) {
	if best == avx512 {
		geluAVX512(&dst[0], &src[0], len(dst))
	} else {
		geluAVX2(&dst[0], &src[0], len(dst))
	}
}

func geluSlopes(d, x []float32) {
	if best == purego {
		refGELUSlope(d, x)
		return
	}
	for len(d) > 0 {
		n := min(len(d), runTerms)
		geluSlopesRun(d[:n], x)
		d, x = d[n:], x[n:]
	}
}

//go:noinline
func geluSlopesRun(d, x []float32) {
	if best == avx512 {
		geluSlopeAVX512(&d[0], &x[0], len(d))
	} else {
		geluSlopeAVX2(&d[0], &x[0], len(d))
	}
}

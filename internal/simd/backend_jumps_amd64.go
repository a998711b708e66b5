//go:build amd64 && !purego

package simd

func jumpThresholds(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	if best == purego {
		refJumpThresholds(t, h, x, tau, rate)
		return
	}
	for len(t) > 0 {
		n := min(len(t), runTerms)
		jumpThresholdsRun(t[:n], h, x, tau, rate)
		t, h, x = t[n:], h[n:], x[n:]
	}
}

//go:noinline
func jumpThresholdsRun(t []int32, h []float32, x []int32, tau float32, rate JumpRate) {
	if best == avx512 {
		jumpThresholdsAVX512(&t[0], &h[0], &x[0], tau, int(rate), len(t))
	} else {
		jumpThresholdsAVX2(&t[0], &h[0], &x[0], tau, int(rate), len(t))
	}
}

package main

import "time"

func peak512(n int)
func peak256(n int)

// peak measures the rate of float32 fused multiply-adds that the core reaches with the registers of
// a backend, in GFLOP/s. It returns 0 for a backend without such registers.
func peak(backend string) (best float64) {
	const n = 1 << 16
	kernel, flop := peak512, 2.0*16*16*n
	switch backend {
	case "avx512":
	case "avx2":
		kernel, flop = peak256, 2*12*8*n
	default:
		return 0
	}
	for range 20 {
		start := time.Now()
		kernel(n)
		best = max(best, flop/float64(time.Since(start).Nanoseconds()))
	}
	return best
}

//go:build amd64 && !purego

package simd

func unmoved(odds []uint64, look, x []int32, words []uint32) (n int) {
	if best == purego {
		return refUnmoved(odds, look, x, words)
	}
	for n+8 <= len(x) {
		end := min(len(x)&^7, n+runTerms)
		if n += unmovedRun(odds, look[n:end], x[n:end], words[2*n:2*end]); n < end {
			return n
		}
	}
	return n
}

//go:noinline
func unmovedRun(odds []uint64, look, x []int32, words []uint32) int {
	if best == avx512 {
		return unmovedAVX512(&odds[0], &look[0], &x[0], &words[0], len(x))
	}
	return unmovedAVX2(&odds[0], &look[0], &x[0], &words[0], len(x))
}

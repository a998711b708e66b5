//go:build amd64 && !purego

package simd

func ars(dst []uint32, key, stream, group uint64) {
	if best == purego || !aes128 {
		refARS(dst, key, stream, group)
		return
	}
	keys := arsKeys(key)
	for len(dst) > 0 {
		n := min(len(dst)/GroupWords, runGroups)
		arsRun(dst[:n*GroupWords], &keys, stream, group*16)
		dst = dst[n*GroupWords:]
		group += uint64(n)
	}
}

//go:noinline
func arsRun(dst []uint32, keys *[2 * (arsRnds + 1)]uint64, stream, counter uint64) {
	if best == avx512 && aes512 {
		arsAVX512(&dst[0], len(dst)/GroupWords, keys, counter, stream)
	} else {
		arsAVX2(&dst[0], len(dst)/GroupWords, keys, counter, stream)
	}
}

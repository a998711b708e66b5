//go:build amd64 && !purego

package simd

func tallyTorus(now, old []uint64, count *Counts) (up, moved, bonds int) {
	if best == purego || len(now) == 0 || len(now) > maxBits/64 {
		return refTallyTorus(now, old, count)
	}
	var sums [3]int
	tallyTorusRun(now, old, count, &sums)
	return sums[0], sums[1], sums[2]
}

//go:noinline
func tallyTorusRun(now, old []uint64, count *Counts, sums *[3]int) {
	n := len(now) / (BitSites / 64)
	switch {
	case best == avx512 && popcounts:
		countTorusAVX512(&now[0], &old[0], count.words(), n, sums)
	case best == avx512:
		tallyTorusAVX512(&now[0], &old[0], count.words(), n, sums)
	default:
		tallyTorusAVX2(&now[0], &old[0], count.words(), n, sums)
	}
}

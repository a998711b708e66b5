//go:build amd64 && !purego

package simd

// nearTerms bounds calls of graphBits, at up to 5 ns a neighbour that memory must
// bring, byteLanes those of tallyBits, which counts in bytes, and chainTerms those of
// spreadChains, at up to 0.5 ns each.
const (
	nearTerms  = 7 * 2 * maxBits / 64
	byteLanes  = 240
	chainTerms = 1 << 16
)

func graphBits(count *Counts, own []uint64, near []int32, n, degree int) {
	if best == purego || n*degree == 0 || n*degree > nearTerms {
		refGraphBits(count, own, near, n, degree)
		return
	}
	graphBitsRun(count, own, near, n, degree)
}

//go:noinline
func graphBitsRun(count *Counts, own []uint64, near []int32, n, degree int) {
	if best == avx512 {
		graphBitsAVX512(count.words(), &own[0], &near[0], n, degree)
	} else {
		graphBitsAVX2(count.words(), &own[0], &near[0], n, degree)
	}
}

func tallyBits(t *ChainTally, now, old []uint64, count *Counts) {
	if best == purego {
		refTallyBits(t, now, old, count)
		return
	}
	for at := 0; at < len(now); at += byteLanes / 2 {
		end := min(at+byteLanes/2, len(now))
		tallyBitsRun(t, now[at:end], old[at:end], count[0][at:])
	}
}

//go:noinline
func tallyBitsRun(t *ChainTally, now, old, count []uint64) {
	if best == avx512 {
		tallyBitsAVX512(&t.Up[0], &now[0], &old[0], &count[0], 2*len(now))
	} else {
		tallyBitsAVX2(&t.Up[0], &now[0], &old[0], &count[0], 2*len(now))
	}
}

func spreadChains(x []int32, own []uint64, place []int32) {
	if best == purego {
		refSpreadChains(x, own, place)
		return
	}
	stride := len(place)
	chains := len(x) / stride
	for at, most := 0, max(16, chainTerms/max(1, chains)); at < stride && chains > 0; at += most {
		spreadChainsRun(x[at:], own, place[at:min(at+most, stride)], chains, stride)
	}
}

//go:noinline
func spreadChainsRun(x []int32, own []uint64, place []int32, chains, stride int) {
	if best == avx512 {
		spreadChainsAVX512(&x[0], &own[0], &place[0], len(place), chains, 4*stride)
	} else {
		spreadChainsAVX2(&x[0], &own[0], &place[0], len(place), chains, 4*stride)
	}
}

//go:build amd64 && !purego

package simd

import "unsafe"

// sumTerms bounds calls of sumRows, which counts in bytes.
const sumTerms = 255

func heatRows(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	if best == purego || len(visits) == 0 || len(near) > RowNear {
		return refHeatRows(rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
	}
	return heatRowsRun(best == avx512 && permutes, rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
}

// atOnce reports whether there is heatOctets.
func atOnce() bool { return best == avx512 && permutes }

// heatOctets is refHeatRows on octets with sums that are kept, up to the first octet that
// needs more than what is left of ties. If philox says so, the words are those of a stream
// from a group on, and not read.
func heatOctets(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row, philox bool, key, stream, group uint64) (done, used int) {
	near = near[:min(len(near), RowNear)] // as HeatRows has made sure of
	return heatOctetsRun(rows, own, visits, near, odds, words, next, made, ties, valid, t, kept, philox, key, stream, group)
}

//go:noinline
func heatOctetsRun(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row, philox bool, key, stream, group uint64) (done, used int) {
	second := (*byte)(unsafe.Add(unsafe.Pointer(&next[0]), made))
	left, n := len(ties)/2, len(visits)/octet
	if philox {
		keys := philoxKeys(key)
		done, used = heatOctetsPhiloxAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &keys, 16*group, stream, second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n, &kept[0][0])
	} else {
		done, used = heatOctetsAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n, &kept[0][0])
	}
	return octet * done, used
}

//go:noinline
func heatRowsRun(wide bool, rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	second := (*byte)(unsafe.Add(unsafe.Pointer(&next[0]), made))
	left, n := len(ties)/2, len(visits)
	switch {
	case wide && kept == nil:
		return heatRowsAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n)
	case wide:
		return heatRowsKeptAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n, &kept[0][0])
	case kept == nil:
		return heatRowsAVX2(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n)
	}
	return heatRowsKeptAVX2(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n, &kept[0][0])
}

func heatPairs(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next [2][]uint32, made int, valid uint64, decided bool, t *[2]RowTally, stop *pairStop) (done, walked int) {
	if !atOnce() || len(visits) == 0 || len(near) > RowNear {
		return refHeatPairs(rows, own, visits, near, odds, words, next, made, valid, decided, t, stop)
	}
	return heatPairsRun(rows, own, visits, near, odds, words, next, made, valid, decided, t, stop)
}

//go:noinline
func heatPairsRun(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next [2][]uint32, made int, valid uint64, decided bool, t *[2]RowTally, stop *pairStop) (done, walked int) {
	second := [2]*byte{(*byte)(unsafe.Add(unsafe.Pointer(&next[0][0]), made)), (*byte)(unsafe.Add(unsafe.Pointer(&next[1][0]), made))}
	known := 0
	if decided {
		known = 1
	}
	return heatPairsAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0][0], &words[1][0], second[0], second[1], valid, len(visits), known, &t[0].Moved[0], (*byte)(unsafe.Pointer(stop)))
}

func sumRows(sum *[ChainBits]int32, rows []Row) {
	if best == purego {
		refSumRows(sum, rows)
		return
	}
	for len(rows) > 0 {
		n := min(len(rows), sumTerms)
		sumRowsRun(sum, rows[:n])
		rows = rows[n:]
	}
}

//go:noinline
func sumRowsRun(sum *[ChainBits]int32, rows []Row) {
	if best == avx512 {
		sumRowsAVX512(&sum[0], &rows[0][0], len(rows))
	} else {
		sumRowsAVX2(&sum[0], &rows[0][0], len(rows))
	}
}

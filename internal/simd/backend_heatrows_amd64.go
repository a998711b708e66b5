//go:build amd64 && !purego

package simd

import "unsafe"

// sumTerms bounds calls of sumRows, which counts in bytes.
const sumTerms = 255

func heatRows(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	if best == purego || len(visits) == 0 || len(near) > RowNear {
		return refHeatRows(rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
	}
	wide := best == avx512 && permutes
	if !wide || kept == nil || visits[0].Octet == 0 && visits[len(visits)-1].Octet == 0 {
		return heatRowsRun(wide, rows, own, visits, near, odds, words, next, made, ties, valid, t, kept)
	}
	for {
		n := 0 // visits of octets, or others
		for n < len(visits) && visits[n].Octet == 1 {
			n += octet
		}
		some, took := 0, 0
		if n > 0 {
			some, took = heatOctetsRun(rows, own, visits[:n], near, odds, words, next, made+done, ties, valid, t, kept)
		} else {
			for n < len(visits) && visits[n].Octet != 1 {
				n++
			}
			some, took = heatRowsRun(true, rows, own, visits[:n], near, odds, words, next, made+done, ties, valid, t, kept)
		}
		done, used = done+some, used+took
		if some < n || n == len(visits) {
			return done, used
		}
		near, visits, words, ties = behind(near, visits[:n]), visits[n:], words[rowWords*n:], ties[2*took:]
	}
}

//go:noinline
func heatOctetsRun(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	second := (*byte)(unsafe.Add(unsafe.Pointer(&next[0]), made))
	left, n := len(ties)/2, len(visits)/octet
	done, used = heatOctetsKeptAVX512(&rows[0][0], &own[0], &visits[0].Row, unsafe.SliceData(near), &odds[0].high[0], &words[0], second, unsafe.SliceData(ties), left, &t.Moved[0], valid, n, &kept[0][0])
	done *= octet
	if done == len(visits) || left-used < ChainBits {
		return done, used
	}
	// What is left is not enough for the octet, but for some of it.
	some, took := heatRowsRun(true, rows, own, visits[done:done+octet], behind(near, visits[:done]), odds, words[rowWords*done:], next, made+done, ties[2*used:], valid, t, kept)
	return done + some, used + took
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

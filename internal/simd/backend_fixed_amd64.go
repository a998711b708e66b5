//go:build amd64 && !purego

package simd

import "golang.org/x/sys/cpu"

// dotWords: AVX-512 multiplies pairs of words and adds them up in one instruction.
var dotWords = cpu.X86.HasAVX512VNNI

// fixedHeight is the height of the tallest tile.
const fixedHeight = 13

// fixedWidth is the width of a tile: two registers.
func fixedWidth() int {
	if best == avx512 {
		return 2 * fixedColumns
	}
	return fixedColumns
}

// fixedRowsOf returns how many of n rows go together.
func fixedRowsOf(n int) int {
	switch {
	case best != avx512 && n >= 5:
		return 5
	case best != avx512:
		return max(1, min(n, 2))
	case n == fixedHeight || n == 25 || n == 26: // a block of 100 chains
		return fixedHeight
	}
	for _, h := range [...]int{12, 8, 4, 2} {
		if n >= h {
			return h
		}
	}
	return 1
}

//go:noinline
func fixedTileRun(sums []int32, a, b []int16, rows, pairs, lda, next int) {
	switch {
	case best != avx512 && rows == 5:
		fixedTile5AVX2(&sums[0], &a[0], &b[0], pairs, lda, next)
	case best != avx512 && rows == 2:
		fixedTile2AVX2(&sums[0], &a[0], &b[0], pairs, lda, next)
	case best != avx512:
		fixedTile1AVX2(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 13 && dotWords:
		fusedTile13AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 12 && dotWords:
		fusedTile12AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 8 && dotWords:
		fusedTile8AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 4 && dotWords:
		fusedTile4AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 2 && dotWords:
		fusedTile2AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case dotWords:
		fusedTile1AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 13:
		fixedTile13AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 12:
		fixedTile12AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 8:
		fixedTile8AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 4:
		fixedTile4AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	case rows == 2:
		fixedTile2AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	default:
		fixedTile1AVX512(&sums[0], &a[0], &b[0], pairs, lda, next)
	}
}

//go:noinline
func fixedRowsRun(c []float32, sums []int32, scale, origin []float32, rows, ldc int) {
	if best == avx512 {
		fixedRowsAVX512(&c[0], &sums[0], &scale[0], &origin[0], rows, ldc)
	} else {
		fixedRowsAVX2(&c[0], &sums[0], &scale[0], &origin[0], rows, ldc)
	}
}

func logisticWords(dst []int16, src []float32) {
	lanes := 8
	if best == avx512 {
		lanes = 16
	}
	for best != purego && len(src) >= lanes {
		n := min(len(src), runTerms) / lanes * lanes
		logisticWordsRun(dst, src[:n])
		dst, src = dst[n:], src[n:]
	}
	refLogisticWords(dst, src)
}

//go:noinline
func logisticWordsRun(dst []int16, src []float32) {
	if best == avx512 {
		logisticWordsAVX512(&dst[0], &src[0], len(src))
	} else {
		logisticWordsAVX2(&dst[0], &src[0], len(src))
	}
}

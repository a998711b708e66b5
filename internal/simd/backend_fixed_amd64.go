//go:build amd64 && !purego

package simd

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// dotWords: AVX-512 multiplies pairs of words and adds them up in one instruction.
var dotWords = cpu.X86.HasAVX512VNNI

const (
	fixedPairs  = 2048 // of rows, in one call
	fixedHeight = 13   // of the tallest tile
)

// fixedTile is sums of a tile, and its rows if columns are missing.
type fixedTile struct {
	sums [fixedHeight * 2 * fixedColumns]int32
	rows [fixedHeight * 2 * fixedColumns]float32
}

var fixedTiles = sync.Pool{New: func() any { return new(fixedTile) }}

func fixedGemm(c []float32, a []int16, f *Fixed, m int) {
	if best == purego {
		refFixedGemm(c, a, f, m)
		return
	}
	t := fixedTiles.Get().(*fixedTile)
	defer fixedTiles.Put(t)
	width := fixedColumns
	if best == avx512 {
		width *= 2
	}
	words := f.Words()
	for j := 0; j < f.n; j += width {
		panels, cols := f.panels[j*words:(j+width)*words], min(width, f.n-j)
		for i, h := 0, 0; i < m; i += h {
			h = fixedRowsOf(m - i)
			sums := t.sums[:h*width]
			clear(sums)
			for l := 0; l < words; l += 2 * fixedPairs {
				fixedTileRun(sums, a[i*words+l:], panels[l*fixedColumns:], h, min(words-l, 2*fixedPairs)/2, words, fixedColumns*words)
			}
			if cols == width {
				fixedRowsRun(c[i*f.n+j:], sums, f.scale[j:], f.origin[j:], h, f.n)
				continue
			}
			fixedRowsRun(t.rows[:], sums, f.scale[j:], f.origin[j:], h, width)
			for k := range h {
				copy(c[(i+k)*f.n+j:][:cols], t.rows[k*width:])
			}
		}
	}
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

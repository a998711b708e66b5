//go:build arm64 && !purego

package simd

// fixedHeight is the height of the tallest tile.
const fixedHeight = 3

func fixedWidth() int { return fixedColumns }

// fixedRowsOf returns how many of n rows go together.
func fixedRowsOf(n int) int { return min(n, fixedHeight) }

//go:noinline
func fixedTileRun(sums []int32, a, b []int16, rows, pairs, lda, _ int) {
	switch rows {
	case 3:
		fixedTile3NEON(&sums[0], &a[0], &b[0], pairs, lda)
	case 2:
		fixedTile2NEON(&sums[0], &a[0], &b[0], pairs, lda)
	default:
		fixedTile1NEON(&sums[0], &a[0], &b[0], pairs, lda)
	}
}

func fixedRowsRun(c []float32, sums []int32, scale, origin []float32, rows, ldc int) {
	for i := range rows {
		refFixedRow(c[i*ldc:][:fixedColumns], sums[i*fixedColumns:], scale, origin)
	}
}

func logisticWords(dst []int16, src []float32) {
	var buf [256]float32
	for len(src) > 0 {
		s := buf[:min(len(src), len(buf))]
		sigmoidTo(s, src[:len(s)])
		for i, v := range s {
			dst[i] = fixedWord(v)
		}
		dst, src = dst[len(s):], src[len(s):]
	}
}

//go:build arm64 && !purego

package simd

func gemmWidth() int      { return 16 }
func gemmHeights() [4]int { return [...]int{4, 2, 1, 1} }
func rowWidth() int       { return 64 }

//go:noinline
func packRows(panel, b []float32, rows, ld int) { packRowsNEON(&panel[0], &b[0], rows, ld) }

//go:noinline
func packColumns(panel, b []float32, blocks, ld int) { packColumnsNEON(&panel[0], &b[0], blocks, ld) }

//go:noinline
func runTile(c, a, panel []float32, height, depth, ldc, lda, ldb int) {
	switch height {
	case 4:
		gemm4x16NEON(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case 2:
		gemm2x16NEON(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	default:
		gemm1x16NEON(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	}
}

//go:noinline
func gemmRowTile(c, a, b []float32, n int) {
	gemm1x64NEON(&c[0], &a[0], &b[0], len(a), n, len(a), n)
}

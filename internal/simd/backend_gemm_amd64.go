//go:build amd64 && !purego

package simd

// gemmWidth is the width of a panel: two registers.
func gemmWidth() int {
	if best == avx512 {
		return 32
	}
	return 16
}

// gemmHeights are the heights of tiles, the tallest first.
func gemmHeights() [4]int {
	if best == avx512 {
		return [...]int{12, 4, 2, 1}
	}
	return [...]int{6, 2, 1, 1}
}

// rowWidth is the width of the tile of one row.
func rowWidth() int {
	if best == avx512 {
		return 128
	}
	return 64
}

//go:noinline
func packRows(panel, b []float32, rows, ld int) {
	if best == avx512 {
		packRowsAVX512(&panel[0], &b[0], rows, ld)
	} else {
		packRowsAVX2(&panel[0], &b[0], rows, ld)
	}
}

//go:noinline
func packColumns(panel, b []float32, blocks, ld int) {
	if best == avx512 {
		packColumnsAVX512(&panel[0], &b[0], blocks, ld)
	} else {
		packColumnsAVX2(&panel[0], &b[0], blocks, ld)
	}
}

//go:noinline
func runTile(c, a, panel []float32, height, depth, ldc, lda, ldb int) {
	switch {
	case best == avx512 && height == 12:
		gemm12x32AVX512(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case best == avx512 && height == 4:
		gemm4x32AVX512(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case best == avx512 && height == 2:
		gemm2x32AVX512(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case best == avx512:
		gemm1x32AVX512(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case height == 6:
		gemm6x16AVX2(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	case height == 2:
		gemm2x16AVX2(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	default:
		gemm1x16AVX2(&c[0], &a[0], &panel[0], depth, ldc, lda, ldb)
	}
}

//go:noinline
func gemmRowTile(c, a, b []float32, n int) {
	if best == avx512 {
		gemm1x128AVX512(&c[0], &a[0], &b[0], len(a), n, len(a), n)
	} else {
		gemm1x64AVX2(&c[0], &a[0], &b[0], len(a), n, len(a), n)
	}
}

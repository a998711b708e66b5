package simd

import (
	"sync"
)

// Packed is a row-major k×n matrix b, prepared for many products: it also holds a copy of b in the
// order in which the backend reads the entries.
type Packed struct {
	b, panels []float32
	n, k      int
	width     int // number of columns of a panel; 0 if there are no panels
}

// Gemm adds a matrix product: c += a·b with a of m×k, b of k×n and c of m×n entries, all row-major.
//
// The terms of every c[i,j] are added in the order of the rows of b, whatever m and n are. A row of
// the result therefore depends only on b and on the same row of a and c. Results are the same in
// every run on one backend. Between backends they differ by rounding (with or without fused
// multiply-add), at most k·2⁻²³·Σ|a·b| per entry.
//
// The slice c may not overlap a or b. Gemm panics unless the lengths are m·n, m·k and k·n.
func Gemm(c, a, b []float32, m, n, k int) {
	checkGemm(c, a, b, m, n, k)
	gemm(c, a, b, m, n, k)
}

// Pack returns b prepared for products. It keeps a reference to b, which must not change. It panics
// unless len(b) = k·n.
func Pack(b []float32, n, k int) *Packed {
	checkLen("b", len(b), k*n)
	p := &Packed{b: b, n: n, k: k}
	p.panels, p.width = packPanels(b, n, k)
	return p
}

// Gemm adds a·b to c, where b is the packed matrix, a has m×k entries, and c has m×n entries. The
// result has the same bits as the result of the function [Gemm]. Gemm panics unless a and c have
// these lengths.
func (p *Packed) Gemm(c, a []float32, m int) {
	checkGemm(c, a, p.b, m, p.n, p.k)
	n, k, width := p.n, p.k, p.width
	if best < gemmTileLevel || m < fewRows || n*k == 0 || width != gemmWidth() {
		gemm(c, a, p.b, m, n, k)
		return
	}
	for j := 0; j < n; j += width {
		cols := min(width, n-j)
		for l := 0; l < k; l += panelDepth {
			depth := min(panelDepth, k-l)
			rows := p.panels[j*k+l*width : j*k+(l+depth)*width]
			for i := 0; i < m; {
				i += gemmTile(c[i*n+j:], a[i*k+l:], rows, m-i, cols, depth, n, k, width, width)
			}
		}
	}
}

// GemmT adds a matrix product with a transposed factor: c += a·bᵀ with a of m×k, b of n×k and c of
// m×n entries, all row-major. The order of terms, the rounding and the panics are the same as for
// [Gemm].
func GemmT(c, a, b []float32, m, n, k int) {
	checkGemm(c, a, b, m, n, k)
	if best < gemmTileLevel || m*n*k == 0 {
		refGemmT(c, a, b, m, n, k)
		return
	}
	gemmPanels(c, a, b, m, n, k, true)
}

func refGemm(c, a, b []float32, m, n, k int) {
	for i := range m {
		row := c[i*n : (i+1)*n]
		for l, v := range a[i*k : (i+1)*k] {
			refAxpy(v, b[l*n:(l+1)*n], row)
		}
	}
}

func refGemmT(c, a, b []float32, m, n, k int) {
	for i := range m {
		x := a[i*k : (i+1)*k]
		for j := range n {
			s := c[i*n+j]
			for l, v := range b[j*k : (j+1)*k] {
				s += float32(x[l] * v)
			}
			c[i*n+j] = s
		}
	}
}

var panels = sync.Pool{New: func() any { return new([panelDepth * panelWidth]float32) }}

// The matrix products cut b into panels. A panel is a few registers wide and has up to panelDepth
// rows. It is copied to contiguous memory if a has enough rows to make use of the copy. For each
// panel, c is updated tile by tile, with the tile in registers. Tiles differ in shape, but not in
// the order in which terms are added.
const (
	panelDepth = 256 // rows of a panel: 32 kB, within the first-level cache
	panelWidth = 32  // largest number of columns of a panel
	fewRows    = 4   // number of rows of a below which Gemm reads b in place
	rowDepth   = 4096

	// unpackedRows is the number of rows of a up to which full panels are read in place. Copying
	// pays only if more than a few tiles share the copy (BenchmarkGemm).
	unpackedRows = 40
)

func gemm(c, a, b []float32, m, n, k int) {
	switch {
	case best < gemmTileLevel || m*n*k == 0:
		refGemm(c, a, b, m, n, k)
	case m < fewRows:
		for i := range m {
			gemmRow(c[i*n:(i+1)*n], a[i*k:(i+1)*k], b, n)
		}
	default:
		gemmPanels(c, a, b, m, n, k, false)
	}
}

func gemmPanels(c, a, b []float32, m, n, k int, transposed bool) {
	panel := panels.Get().(*[panelDepth * panelWidth]float32)
	defer panels.Put(panel)
	width := gemmWidth()
	for j := 0; j < n; j += width {
		cols := min(width, n-j)
		for l := 0; l < k; l += panelDepth {
			depth := min(panelDepth, k-l)
			rows, ld := panel[:depth*width], width
			switch {
			case transposed:
				packTransposed(rows, b[j*k+l:], cols, k, width)
			case m <= unpackedRows && cols == width:
				rows, ld = b[l*n+j:], n
			default:
				pack(rows, b[l*n+j:], cols, n, width)
			}
			for i := 0; i < m; {
				i += gemmTile(c[i*n+j:], a[i*k+l:], rows, m-i, cols, depth, n, k, ld, width)
			}
		}
	}
}

// packPanels returns the panels of b one after the other, k rows each, and their width.
func packPanels(b []float32, n, k int) (panels []float32, width int) {
	if best < gemmTileLevel {
		return nil, 0
	}
	width = gemmWidth()
	panels = make([]float32, (n+width-1)/width*width*k)
	for j := 0; j < n; j += width {
		for l := 0; l < k; l += panelDepth {
			depth := min(panelDepth, k-l)
			pack(panels[j*k+l*width:j*k+(l+depth)*width], b[l*n+j:], min(width, n-j), n, width)
		}
	}
	return panels, width
}

// pack copies cols columns of consecutive rows of b, of stride ld, to rows of width entries;
// missing columns become 0.
//
//go:noinline
func pack(panel, b []float32, cols, ld, width int) {
	rows := len(panel) / width
	if cols == width {
		packRowsRun(panel, b, rows, ld)
		return
	}
	for l := range rows {
		row := panel[l*width : (l+1)*width]
		clear(row[copy(row, b[l*ld:l*ld+cols]):])
	}
}

// packTransposed copies cols rows of b, of stride ld, to the columns of a panel of the given width;
// missing columns become 0.
//
//go:noinline
func packTransposed(panel, b []float32, cols, ld, width int) {
	half := width / 2
	rows := len(panel) / width
	for j := 0; j < width; j += half {
		blocks := 0
		if cols-j >= half {
			if blocks = rows / half; blocks > 0 {
				packColumnsRun(panel[j:], b[j*ld:], blocks, ld)
			}
		}
		for l := blocks * half; l < rows; l++ {
			for h := j; h < j+half; h++ {
				v := float32(0)
				if h < cols {
					v = b[h*ld+l]
				}
				panel[l*width+h] = v
			}
		}
	}
}

// gemmTile adds a·panel to the tallest tile of c that fits into the given number of rows, and
// returns the height of the tile. The panel has depth rows of stride ldb.
func gemmTile(c, a, panel []float32, rows, cols, depth, ldc, lda, ldb, width int) int {
	if cols < width {
		return gemmEdge(c, a, panel, rows, cols, depth, ldc, lda, width)
	}
	heights := gemmHeights()
	height := tallest(heights[:], rows)
	gemmTileRun(c, a, panel, height, depth, ldc, lda, ldb)
	return height
}

// gemmEdge does the same as gemmTile for a panel with missing columns. It works on a copy of c.
func gemmEdge(c, a, panel []float32, rows, cols, depth, ldc, lda, width int) int {
	var full [12 * panelWidth]float32
	heights := gemmHeights()
	height := tallest(heights[:], rows)
	for i := range height {
		copy(full[i*width:], c[i*ldc:i*ldc+cols])
	}
	gemmTile(full[:], a, panel, height, width, depth, width, lda, width, width)
	for i := range height {
		copy(c[i*ldc:i*ldc+cols], full[i*width:])
	}
	return height
}

// tallest returns the first of heights, which descend, that is at most rows, or 1 if there is none.
func tallest(heights []int, rows int) int {
	for _, h := range heights {
		if h <= rows {
			return h
		}
	}
	return 1
}

// gemmRow adds the product of the row a with the matrix b to the row c.
func gemmRow(c, a, b []float32, n int) {
	width := rowWidth()
	j := 0
	for ; n-j >= width; j += width {
		for l := 0; l < len(a); l += rowDepth {
			gemmRowRun(c[j:], a[l:min(l+rowDepth, len(a))], b[l*n+j:], n)
		}
	}
	if j < n {
		gemmRowPanels(c, a, b, n, j)
	}
}

// gemmRowPanels computes gemmRow for the columns from j on.
func gemmRowPanels(c, a, b []float32, n, j int) {
	panel := panels.Get().(*[panelDepth * panelWidth]float32)
	defer panels.Put(panel)
	width := gemmWidth()
	for ; j < n; j += width {
		cols := min(width, n-j)
		for l := 0; l < len(a); l += panelDepth {
			depth := min(panelDepth, len(a)-l)
			pack(panel[:depth*width], b[l*n+j:], cols, n, width)
			gemmTile(c[j:], a[l:], panel[:depth*width], 1, cols, depth, n, len(a), width, width)
		}
	}
}

//go:build (amd64 || arm64) && !purego

package simd

import "sync"

// fixedPairs is how many pairs of rows one call takes.
const fixedPairs = 2048

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
	width, words := fixedWidth(), f.Words()
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

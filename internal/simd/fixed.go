package simd

import (
	"math"
	"sync"
)

// Fixed is a k×n matrix b in fixed point, for products a·b in integer arithmetic. The entries of a
// are numbers in [−½, ½] with 13 binary places. Column j of b is stored as integers in units of
// u_j,
//
//	B[l,j] = b[l,j]/u_j  to the nearest integer, ties to even.
//
// The unit u_j is the smallest power of two, at least 2⁻¹⁰⁰, with |B[l,j]| < 2¹⁵ and Σ_l |B[l,j]| <
// 2¹⁹. Products are then exact sums of 32-bit integers, the same on every machine.
type Fixed struct {
	// Entries in panels of sixteen columns. The number of panels is even. A panel holds its pairs
	// of rows one after the other, and each pair column by column.
	panels        []int16
	scale, origin []float32
	n, k          int
}

const (
	fixedColumns = 16
	fixedPlaces  = 13
	fixedSum     = 1<<19 - 1 // largest sum of |B| in a column: 2¹²·2¹⁹ = 2³¹
)

// at returns the index of entry (l, j) in panels.
func (f *Fixed) at(l, j int) int {
	return j/fixedColumns*fixedColumns*f.Words() + (l/2*fixedColumns+j%fixedColumns)*2 + l%2
}

// Words returns the number of columns of the matrix that [Fixed.Gemm] multiplies by b. It is the
// number k of rows of b, rounded up to an even number. An extra column has no effect.
func (f *Fixed) Words() int { return f.k + f.k&1 }

// Unit returns the unit u_j of column j (see [Fixed]).
func (f *Fixed) Unit(j int) float64 { return math.Ldexp(float64(f.scale[j]), fixedPlaces) }

// Fix returns the row-major k×n matrix b in fixed point. [Fixed.Gemm] adds origin, which has one
// entry per column, to every row of a product with b. Fix keeps no reference to b or origin. It
// panics unless len(b) = k·n, with k, n ≥ 1, and len(origin) = n. All numbers must be finite.
func Fix(b, origin []float32, n, k int) *Fixed {
	checkLen("b", len(b), k*n)
	checkLen("origin", len(origin), n)
	wide := (n + 2*fixedColumns - 1) / (2 * fixedColumns) * (2 * fixedColumns)
	f := &Fixed{n: n, k: k, scale: make([]float32, wide), origin: make([]float32, wide)}
	f.panels = make([]int16, wide*f.Words())
	copy(f.origin, origin)
	units := fixedUnits(b, n, k)
	for j, u := range units {
		f.scale[j] = float32(math.Ldexp(u, -fixedPlaces))
	}
	for l := range k {
		for j, v := range b[l*n : (l+1)*n] {
			f.panels[f.at(l, j)] = int16(fixedInteger(v, units[j]))
		}
	}
	return f
}

// fixedInteger returns v/unit rounded to the nearest integer, ties to even. unit is a power of two,
// at least 2⁻¹⁰⁰.
func fixedInteger(v float32, unit float64) float64 {
	return math.RoundToEven(float64(v) / unit)
}

// fixedUnits returns the unit u_j of each column. It traverses b by rows, the order in memory.
func fixedUnits(b []float32, n, k int) []float64 {
	units, sum, most := make([]float64, n), make([]float64, n), make([]float64, n)
	count := func(of func(v float32, j int) float64) {
		clear(sum)
		clear(most)
		for l := range k {
			for j, v := range b[l*n : (l+1)*n] {
				a := math.Abs(of(v, j))
				sum[j], most[j] = sum[j]+a, max(most[j], a)
			}
		}
	}
	count(func(v float32, _ int) float64 { return float64(v) })
	for j := range units {
		e := -100
		if most[j] > 0 {
			_, e = math.Frexp(max(sum[j]/fixedSum, most[j]/math.MaxInt16))
		}
		units[j] = math.Ldexp(1, max(e-1, -100))
	}
	for more := true; more; { // at most two rounds: rounding may require one doubling
		more = false
		count(func(v float32, j int) float64 { return fixedInteger(v, units[j]) })
		for j := range units {
			if sum[j] > fixedSum || most[j] > math.MaxInt16 {
				units[j], more = 2*units[j], true
			}
		}
	}
	return units
}

// Gemm stores a·b + origin in c, for the matrix b and the vector origin that were passed to [Fix].
// The matrices a and c have m rows. The entries of a are integers in units of 2⁻¹³. With the units
// u_j and the integers B of [Fixed], the result is
//
//	c[i,j] = origin_j + u_j·Σ_l 2⁻¹³·a[i,l]·B[l,j].
//
// The sum is exact for |a| ≤ 2¹² (otherwise modulo 2³²). It is rounded to float32, and rounded
// again after adding origin. Rows of a have [Fixed.Words] entries. Gemm panics unless len(c) = m·n
// and len(a) = m·Words.
func (f *Fixed) Gemm(c []float32, a []int16, m int) {
	checkLen("c", len(c), m*f.n)
	checkLen("a", len(a), m*f.Words())
	if best < fixedTileLevel {
		refFixedGemm(c, a, f, m)
		return
	}
	t := fixedTiles.Get().(*fixedTile)
	defer fixedTiles.Put(t)
	width, words, heights := fixedWidth(), f.Words(), fixedHeights()
	for j := 0; j < f.n; j += width {
		panels, cols := f.panels[j*words:(j+width)*words], min(width, f.n-j)
		for i, h := 0, 0; i < m; i += h {
			h = fixedRowsOf(m-i, heights)
			sums := t.sums[:h*width]
			clear(sums)
			for l := 0; l < words; l += 2 * fixedPairs {
				fixedTileRun(sums, a[i*words+l:], panels[l*fixedColumns:], h, min(words-l, 2*fixedPairs)/2, words, fixedColumns*words)
			}
			if cols == width {
				fixedRows(c[i*f.n+j:], sums, f.scale[j:], f.origin[j:], h, f.n)
				continue
			}
			fixedRows(t.rows[:], sums, f.scale[j:], f.origin[j:], h, width)
			for k := range h {
				copy(c[(i+k)*f.n+j:][:cols], t.rows[k*width:])
			}
		}
	}
}

// LogisticWords stores in dst[i] the integer nearest to 2¹³·(σ(src[i]) − ½), where σ is the
// logistic function of [SigmoidTo]. The result is between −2¹² and 2¹², and 0 for NaN.
// LogisticWords panics unless len(dst) = len(src).
func LogisticWords(dst []int16, src []float32) {
	checkLen("dst", len(dst), len(src))
	for lanes := wordLanes(); best >= logisticWordsLevel && len(src) >= lanes; {
		n := min(len(src), runTerms) / lanes * lanes
		logisticWordsRun(dst, src[:n])
		dst, src = dst[n:], src[n:]
	}
	refLogisticWords(dst, src)
}

func refFixedGemm(c []float32, a []int16, f *Fixed, m int) {
	words := f.Words()
	for j := 0; j < f.n; j += fixedColumns {
		panel, cols := f.panels[j*words:(j+fixedColumns)*words], min(fixedColumns, f.n-j)
		for i := 0; i < m; i += len(fixedSums{}) {
			var sums fixedSums
			rows := min(m-i, len(sums))
			for l := 0; l < words; l += len(fixedPart{}) {
				var part fixedPart
				n := min(words-l, len(part))
				for k := range n {
					part.pack(k, panel[(l+k)/2*2*fixedColumns+k%2:])
				}
				for k := range rows {
					sums.add(k, a[(i+k)*words+l:][:n], &part)
				}
			}
			for k := range rows {
				var row [fixedColumns]int32
				sums.split(&row, k)
				refFixedRow(c[(i+k)*f.n+j:][:cols], row[:], f.scale[j:j+cols], f.origin[j:j+cols])
			}
		}
	}
}

// The reference packs two 32-bit integers in one of 64 bits, the second times 2³². One
// multiplication then serves both, and their sums can be separated again if they fit.
type (
	fixedSums [32][fixedColumns / 2]int64 // sums of a tile of rows, two columns per entry
	fixedPart [64][fixedColumns / 2]int64 // rows of a panel, two columns per entry
)

// pack stores row k, given the columns of a panel that begin at b.
func (p *fixedPart) pack(k int, b []int16) {
	for l := range p[k] {
		p[k][l] = int64(b[4*l]) + int64(b[4*l+2])<<32
	}
}

// add adds the product of a row of a with the part p to the sums of row k.
func (s *fixedSums) add(k int, row []int16, p *fixedPart) {
	for l := 0; l < fixedColumns/2; l += 4 {
		sum := (*[4]int64)(s[k][l:])
		t, u, v, w := sum[0], sum[1], sum[2], sum[3]
		for i, a := range row {
			x, b := int64(a), (*[4]int64)(p[i&(len(p)-1)][l:])
			t += x * b[0]
			u += x * b[1]
			v += x * b[2]
			w += x * b[3]
		}
		*sum = [4]int64{t, u, v, w}
	}
}

// split separates the sums of row k and stores them in the slice row.
func (s *fixedSums) split(row *[fixedColumns]int32, k int) {
	for l, v := range s[k] {
		low := int32(v)
		row[2*l], row[2*l+1] = low, int32((v-int64(low))>>32)
	}
}

// refFixedRows converts integer sums of sixteen columns to float32, adds origin, and stores them in
// rows of c with the stride ldc.
func refFixedRows(c []float32, sums []int32, scale, origin []float32, rows, ldc int) {
	for i := range rows {
		refFixedRow(c[i*ldc:][:fixedColumns], sums[i*fixedColumns:], scale, origin)
	}
}

// refFixedRow converts the integer sums of one row to float32, adds origin, and stores them in c.
func refFixedRow(c []float32, sums []int32, scale, origin []float32) {
	for l := range c {
		c[l] = origin[l] + float32(float32(sums[l])*scale[l])
	}
}

// refLogisticWords is the reference of LogisticWords. It computes σ with the current backend.
func refLogisticWords(dst []int16, src []float32) {
	var buf [256]float32
	for len(src) > 0 {
		s := buf[:min(len(src), len(buf))]
		sigmoid(s, src[:len(s)])
		for i, v := range s {
			dst[i] = fixedWord(v)
		}
		dst, src = dst[len(s):], src[len(s):]
	}
}

// fixedWord returns s − ½ in units of 2⁻¹³, rounded to an integer, and 0 for NaN.
func fixedWord(s float32) int16 {
	if s != s {
		return 0
	}
	return int16(math.RoundToEven(float64(float32(s*(1<<fixedPlaces)) - 1<<(fixedPlaces-1))))
}

const (
	fixedPairs  = 2048 // largest number of pairs of rows in one call
	fixedHeight = 13   // height in rows of the tallest tile
)

// fixedRowsOf returns the number of rows, out of n, for the next tile. It returns heights[0] if one
// or two tiles of that height cover n exactly or with one row to spare (as for the 25 rows of a
// block of 100 chains). Otherwise it returns the tallest of the other heights that fits.
func fixedRowsOf(n int, heights [6]int) int {
	if h := heights[0]; n == h || n == 2*h-1 || n == 2*h {
		return h
	}
	return tallest(heights[1:], n)
}

// fixedTile is the workspace of a tile: its integer sums, and its rows if columns are missing.
type fixedTile struct {
	sums [fixedHeight * 2 * fixedColumns]int32
	rows [fixedHeight * 2 * fixedColumns]float32
}

var fixedTiles = sync.Pool{New: func() any { return new(fixedTile) }}

package simd

import (
	"fmt"
	"math/bits"
	"sync"
)

// Choice records the sites whose entry is 1, for each of several states. A state is a vector of
// zeros and ones. It chooses the matrix rows of the recorded sites. [Packed.AddChosen] and
// [AddChosen64] add up the chosen rows. The zero value holds no states; call [Choice.Set] first.
// Only one goroutine at a time may use a Choice.
type Choice struct {
	// Groups × states: 8 times the number whose four bits are the sites of the group.
	quads         []uint8
	states, sites int
}

// quad is the number of rows in a group that shares a table of sums. Computing the table's sixteen
// sums takes as long as adding one of them to each of about twenty states.
const quad = 4

// groups returns the number of groups of four sites; the last one may be smaller.
func (q *Choice) groups() int { return (q.sites + quad - 1) / quad }

// Set records in q which entries of x are 1. The slice x holds states of the given number of sites.
// Set reads only the lowest bit of an entry, and keeps no reference to x. It panics unless sites ≥
// 1 and len(x) is a multiple of sites.
func (q *Choice) Set(x []int32, sites int) {
	if sites < 1 || len(x)%sites != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, want a multiple of sites = %d, which is to be ≥ 1", len(x), sites))
	}
	q.states, q.sites = len(x)/sites, sites
	q.quads = resized(q.quads, q.states*q.groups())
	for s := range q.states {
		quads(q.quads[s:], x[s*sites:(s+1)*sites], q.states)
	}
}

// AddChosen adds rows of the packed matrix b to row s of c. State s of q chooses the rows. They are
// added in groups of four:
//
//	c[s,j] += Σ_g T_gj,  T_gj = (b[4g,j] + b[4g+1,j]) + (b[4g+2,j] + b[4g+3,j]).
//
// The sum T_gj omits rows that the state does not choose, and is 0 if it chooses none of the four.
// Terms are added in ascending order of g. Every sum is rounded to float32, so the bits are the
// same on every machine. AddChosen panics unless b has as many rows as q has sites, and len(c) =
// states·n, where n is the number of columns of b.
func (p *Packed) AddChosen(c []float32, q *Choice) {
	if q.sites != p.k {
		panic(fmt.Sprintf("simd: states of %d sites, want %d", q.sites, p.k))
	}
	checkLen("c", len(c), q.states*p.n)
	n, k, width := p.n, p.k, p.width
	if best < addChosenLevel || width != gemmWidth() {
		refAddChosen(c, n, p.b, n, n, q)
		return
	}
	t := choices.Get().(*choiceTables)
	defer choices.Put(t)
	for j := 0; j < n; j += tableWidth {
		panel := j / width * width
		w, cols := p.panels[panel*k+j-panel:(panel+width)*k], min(tableWidth, n-j)
		for s := 0; s < q.states; s += choiceStates {
			some, at := min(q.states-s, choiceStates), s*n+j
			if cols == tableWidth {
				t.add(c[at:], n, w, width, q, s, some)
				continue
			}
			for i := range some {
				copy(t.rows[i*tableWidth:], c[at+i*n:][:cols])
			}
			t.add(t.rows[:], tableWidth, w, width, q, s, some)
			for i := range some {
				copy(c[at+i*n:][:cols], t.rows[i*tableWidth:])
			}
		}
	}
}

// AddChosen64 stores sums in dst. Row s of dst is origin plus the rows of w that state s of q
// chooses:
//
//	dst[s,j] = (Σ_g T_gj) + origin_j,  f[s,j] = dst[s,j] rounded to float32.
//
// T_gj is the sum of a group of four rows as in [Packed.AddChosen], but in float64. The matrix w is
// sites × len(origin), and the rows of dst and f begin ld entries apart. AddChosen64 panics unless
// w has that length, ld ≥ len(origin), and dst and f are long enough for the last row.
func AddChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, q *Choice) {
	n := len(origin)
	checkLen("w", len(w), q.sites*n)
	if ld < n {
		panic(fmt.Sprintf("simd: ld = %d, want ≥ %d", ld, n))
	}
	if q.states == 0 || n == 0 {
		return
	}
	if last := (q.states-1)*ld + n; len(dst) < last || len(f) < last {
		panic(fmt.Sprintf("simd: len(dst), len(f) = %d, %d, want ≥ %d", len(dst), len(f), last))
	}
	const width = tableWidth / 2
	j := 0
	if best >= addChosen64Level {
		t := choices.Get().(*choiceTables)
		defer choices.Put(t)
		for ; n-j >= width; j += width {
			for s := 0; s < q.states; s += choiceStates {
				at := s*ld + j
				rows := t.rows64[:min(q.states-s, choiceStates)*width]
				clear(rows)
				t.add64(rows, w[j:], n, q, s, len(rows)/width)
				spillRun(dst[at:], f[at:], rows, origin[j:], len(rows)/width, ld)
			}
		}
	}
	if j < n {
		refAddChosen64(dst[j:], f[j:], ld, origin[j:], w[j:], n, n-j, q)
	}
}

// refWidth is the number of columns that the reference processes together.
const refWidth = 32

// refQuads stores 8 times the number whose four bits are the sites of a group, for each group of
// four sites, as bytes of stride ld.
func refQuads(dst []uint8, x []int32, ld int) {
	at := 0
	for ; len(x) >= quad; x = x[quad:] {
		dst[at] = uint8(x[0]&1<<3 | x[1]&1<<4 | x[2]&1<<5 | x[3]&1<<6)
		at += ld
	}
	if len(x) > 0 {
		bits := int32(0)
		for i, v := range x {
			bits |= v & 1 << (3 + i)
		}
		dst[at] = uint8(bits)
	}
}

// refAddChosen adds to each row of c the chosen rows of w, for n columns. ldc and ldw are the
// strides of c and w.
func refAddChosen[T float32 | float64](c []T, ldc int, w []float32, ldw, n int, q *Choice) {
	var sums [1 << quad][refWidth]T
	for j := 0; j < n; j += refWidth {
		cols := min(n-j, refWidth)
		for g := range q.groups() {
			refSums(&sums, w[g*quad*ldw+j:], ldw, min(q.sites-g*quad, quad), cols)
			for s, index := range q.quads[g*q.states : (g+1)*q.states] {
				sum := sums[index/8][:cols]
				row := c[s*ldc+j:][:len(sum)]
				for i, v := range sum {
					row[i] += v
				}
			}
		}
	}
}

// refSums stores the sums of all subsets of up to four rows of w.
func refSums[T float32 | float64](sums *[1 << quad][refWidth]T, w []float32, ldw, rows, cols int) {
	for p := 1; p < 1<<rows; p++ {
		sum := sums[p][:cols]
		switch low, high := p&3, p&12; {
		case low != 0 && high != 0:
			a, b := sums[low][:len(sum)], sums[high][:len(sum)]
			for i := range sum {
				sum[i] = a[i] + b[i]
			}
		case p == 3 || p == 12:
			a, b := sums[p/3][:len(sum)], sums[p/3*2][:len(sum)]
			for i := range sum {
				sum[i] = a[i] + b[i]
			}
		default:
			row := w[bits.TrailingZeros(uint(p))*ldw:][:len(sum)]
			for i, v := range row {
				sum[i] = T(v)
			}
		}
	}
}

// refAddChosen64 computes AddChosen64 for n columns.
func refAddChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, ldw, n int, q *Choice) {
	for s := range q.states {
		clear(dst[s*ld:][:n])
	}
	refAddChosen(dst, ld, w, ldw, n, q)
	for s := range q.states {
		row, rounded := dst[s*ld:][:n], f[s*ld:][:n]
		for j, o := range origin[:n] {
			row[j] += o
			rounded[j] = float32(row[j])
		}
	}
}

// choiceTables is the workspace for sums of chosen rows.
type choiceTables struct {
	sums   [choiceGroups << quad * tableWidth]float32
	sums64 [choiceGroups << quad * tableWidth / 2]float64
	rows   [choiceStates * tableWidth]float32     // copy of rows of c if columns are missing
	rows64 [choiceStates * tableWidth / 2]float64 // copy of rows of dst
	last   [quad * tableWidth]float32             // copy of the last group if rows are missing
}

const (
	// tableWidth is the number of float32 columns of a table, twice that of float64 columns. It is
	// one register with AVX-512 and two with AVX2.
	tableWidth = 16

	// choiceGroups is the number of tables that are computed together. They take 16 kB, well within
	// the first-level cache.
	choiceGroups = 16

	// choiceStates is the number of states that use the same tables.
	choiceStates = 32

	// choiceRun is the largest number of groups in a call that computes its own tables.
	choiceRun = 1024
)

var choices = sync.Pool{New: func() any { return new(choiceTables) }}

func quads(dst []uint8, x []int32, ld int) {
	for best >= quadsLevel && len(x) >= 4*quad {
		n := min(len(x), runTerms) / (4 * quad) * 4
		quadsRun(dst, x, n, ld)
		if x = x[n*quad:]; len(x) == 0 {
			return
		}
		dst = dst[n*ld:]
	}
	refQuads(dst, x, ld)
}

// add adds the chosen rows of w to n rows of c, for tableWidth columns. The states are s … s+n−1 of
// q.
func (t *choiceTables) add(c []float32, ldc int, w []float32, ldw int, q *Choice, s, n int) {
	step, heights := choiceStep(), choiceHeights()
	for g := 0; g < q.groups(); {
		groups, rows := min(q.groups()-g, step), w[g*quad*ldw:]
		ld := ldw
		if left := q.sites - g*quad; groups > left/quad { // the last group is incomplete
			if groups = left / quad; groups == 0 {
				rows, ld, groups = t.incomplete(rows, ldw, tableWidth, left), tableWidth, 1
			}
		}
		if step == choiceGroups {
			sumTablesRun(t.sums[:], rows, groups, ld)
		}
		for i, h := 0, 0; i < n; i += h {
			h = tallest(heights[:], n-i)
			addChosenRun(c[i*ldc:], t.sums[:], rows, q.quads[g*q.states+s+i:], h, groups, ldc, ld, q.states)
		}
		g += groups
	}
}

// incomplete returns a copy of the last group, which has fewer than four rows, padded with zeros.
func (t *choiceTables) incomplete(w []float32, ldw, cols, rows int) []float32 {
	clear(t.last[:])
	for i := range rows {
		copy(t.last[i*tableWidth:], w[i*ldw:][:cols])
	}
	return t.last[:]
}

// add64 does the same as add in float64.
func (t *choiceTables) add64(c []float64, w []float32, ldw int, q *Choice, s, n int) {
	const width = tableWidth / 2
	step, heights := choiceStep(), choiceHeights()
	for g := 0; g < q.groups(); {
		groups, rows := min(q.groups()-g, step), w[g*quad*ldw:]
		ld := ldw
		if left := q.sites - g*quad; groups > left/quad {
			if groups = left / quad; groups == 0 {
				rows, ld, groups = t.incomplete(rows, ldw, width, left), tableWidth, 1
			}
		}
		if step == choiceGroups {
			sumTables64Run(t.sums64[:], rows, groups, ld)
		}
		for i, h := 0, 0; i < n; i += h {
			h = tallest(heights[:], n-i)
			addChosen64Run(c[i*width:], t.sums64[:], rows, q.quads[g*q.states+s+i:], h, groups, width, ld, q.states)
		}
		g += groups
	}
}

//go:build amd64 && !purego

package simd

import "sync"

// choiceTables is the working space of sums of chosen rows.
type choiceTables struct {
	sums   [choiceGroups << quad * tableWidth]float32
	sums64 [choiceGroups << quad * tableWidth / 2]float64
	rows   [choiceStates * tableWidth]float32     // those of c, if columns are missing
	rows64 [choiceStates * tableWidth / 2]float64 // those of dst
	last   [quad * tableWidth]float32             // the last group, if rows are missing
}

const (
	// tableWidth is how many columns of float32 a table has, twice those of float64: one
	// register with AVX-512, two with AVX2.
	tableWidth = 16

	// choiceGroups is how many tables are at hand together, 16 kB: well within the
	// first-level cache.
	choiceGroups = 16

	// choiceStates is how many states take sums of them.
	choiceStates = 32

	// choiceRun bounds one call that makes its tables itself.
	choiceRun = 1024
)

var choices = sync.Pool{New: func() any { return new(choiceTables) }}

func quads(dst []uint8, x []int32, ld int) {
	for best == avx512 && len(x) >= 4*quad {
		n := min(len(x), runTerms) / (4 * quad) * 4
		quadsRun(dst, x, n, ld)
		if x = x[n*quad:]; len(x) == 0 {
			return
		}
		dst = dst[n*ld:]
	}
	refQuads(dst, x, ld)
}

//go:noinline
func quadsRun(dst []uint8, x []int32, n, ld int) { quadsAVX512(&dst[0], &x[0], n, ld) }

func addChosen(c, b, panels []float32, n, k, width int, q *Choice) {
	if best == purego || width != gemmWidth() {
		refAddChosen(c, n, b, n, n, q)
		return
	}
	t := choices.Get().(*choiceTables)
	defer choices.Put(t)
	for j := 0; j < n; j += tableWidth {
		panel := j / width * width
		w, cols := panels[panel*k+j-panel:(panel+width)*k], min(tableWidth, n-j)
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

// add adds to n rows of c, a table wide, what the states from s on choose of rows of w.
func (t *choiceTables) add(c []float32, ldc int, w []float32, ldw int, q *Choice, s, n int) {
	step := choiceGroups
	if best == avx512 {
		step = choiceRun
	}
	for g := 0; g < q.groups(); {
		groups, rows := min(q.groups()-g, step), w[g*quad*ldw:]
		ld := ldw
		if left := q.sites - g*quad; groups > left/quad { // one is incomplete
			if groups = left / quad; groups == 0 {
				rows, ld, groups = t.incomplete(rows, ldw, tableWidth, left), tableWidth, 1
			}
		}
		if best != avx512 {
			sumTablesRun(t.sums[:], rows, groups, ld)
		}
		for i, h := 0, 0; i < n; i += h {
			h = choiceHeight(n - i)
			addChosenRun(c[i*ldc:], t.sums[:], rows, q.quads[g*q.states+s+i:], h, groups, ldc, ld, q.states)
		}
		g += groups
	}
}

// incomplete returns the last group, of less than four rows, with zeros for the others.
func (t *choiceTables) incomplete(w []float32, ldw, cols, rows int) []float32 {
	clear(t.last[:])
	for i := range rows {
		copy(t.last[i*tableWidth:], w[i*ldw:][:cols])
	}
	return t.last[:]
}

func addChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, q *Choice) {
	const width = tableWidth / 2
	n, j := len(origin), 0
	if best != purego {
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

// add64 is add in float64.
func (t *choiceTables) add64(c []float64, w []float32, ldw int, q *Choice, s, n int) {
	const width = tableWidth / 2
	step := choiceGroups
	if best == avx512 {
		step = choiceRun
	}
	for g := 0; g < q.groups(); {
		groups, rows := min(q.groups()-g, step), w[g*quad*ldw:]
		ld := ldw
		if left := q.sites - g*quad; groups > left/quad {
			if groups = left / quad; groups == 0 {
				rows, ld, groups = t.incomplete(rows, ldw, width, left), tableWidth, 1
			}
		}
		if best != avx512 {
			sumTables64Run(t.sums64[:], rows, groups, ld)
		}
		for i, h := 0, 0; i < n; i += h {
			h = choiceHeight(n - i)
			addChosen64Run(c[i*width:], t.sums64[:], rows, q.quads[g*q.states+s+i:], h, groups, ld, q.states)
		}
		g += groups
	}
}

// choiceHeight returns how many of n rows take sums together.
func choiceHeight(n int) int {
	for _, h := range [...]int{25, 16, 8, 4, 2} {
		if n >= h && (best == avx512 || h <= 8) {
			return h
		}
	}
	return 1
}

//go:noinline
func sumTablesRun(t, w []float32, groups, ld int) { sumTablesAVX2(&t[0], &w[0], groups, ld) }

//go:noinline
func sumTables64Run(t []float64, w []float32, groups, ld int) {
	sumTables64AVX2(&t[0], &w[0], groups, ld)
}

// addChosenRun adds what rows states choose: of tables with AVX2, of the groups of w with
// AVX-512.
//
//go:noinline
func addChosenRun(c, t, w []float32, quads []uint8, rows, groups, ldc, ldw, ldq int) {
	switch {
	case best == avx512 && rows == 25:
		addChosen25AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 16:
		addChosen16AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 8:
		addChosen8AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 4:
		addChosen4AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 2:
		addChosen2AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512:
		addChosen1AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case rows == 8:
		addSums8AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	case rows == 4:
		addSums4AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	case rows == 2:
		addSums2AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	default:
		addSums1AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	}
}

// addChosen64Run is addChosenRun in float64, for rows of c side by side.
//
//go:noinline
func addChosen64Run(c, t []float64, w []float32, quads []uint8, rows, groups, ldw, ldq int) {
	const ldc = tableWidth / 2
	switch {
	case best == avx512 && rows == 25:
		addChosen64x25AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 16:
		addChosen64x16AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 8:
		addChosen64x8AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 4:
		addChosen64x4AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512 && rows == 2:
		addChosen64x2AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case best == avx512:
		addChosen64x1AVX512(&c[0], &t[0], &w[0], &quads[0], groups, ldc, ldw, ldq)
	case rows == 8:
		addSums64x8AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	case rows == 4:
		addSums64x4AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	case rows == 2:
		addSums64x2AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	default:
		addSums64x1AVX2(&c[0], &t[0], &quads[0], groups, ldc, ldq)
	}
}

//go:noinline
func spillRun(dst []float64, f []float32, sums, origin []float64, rows, ld int) {
	if best == avx512 {
		spillAVX512(&dst[0], &f[0], &sums[0], &origin[0], rows, ld)
	} else {
		spillAVX2(&dst[0], &f[0], &sums[0], &origin[0], rows, ld)
	}
}

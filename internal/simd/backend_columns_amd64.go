//go:build amd64 && !purego

package simd

// runRowTerms bounds one call of addRows: with AVX2 a term takes about 0.2 ns.
const runRowTerms = 1 << 17

func changes(rows, y, x []int32) int {
	if best != avx512 { // AVX2 squeezes nothing together
		return refChanges(rows, y, x)
	}
	found, i := 0, 0
	for i < len(y)&^15 {
		n := min(len(y)&^15-i, runTerms)
		more := changesRun(rows[found:], y[i:i+n], x[i:])
		if i > 0 {
			shift(rows[found:found+more], int32(i))
		}
		i, found = i+n, found+more
	}
	if i == len(y) {
		return found
	}
	more := refChanges(rows[found:], y[i:], x[i:])
	shift(rows[found:found+more], int32(i))
	return found + more
}

// shift adds by to the sites that rows name.
func shift(rows []int32, by int32) {
	for k, r := range rows {
		sign := r >> 31
		rows[k] = ((r ^ sign) + by) ^ sign
	}
}

//go:noinline
func changesRun(rows, y, x []int32) int {
	return changesAVX512(&rows[0], &y[0], &x[0], len(y))
}

func addRows(dst []float64, f []float32, src []float64, w []float32, stride int, rows []int32) {
	n := 0
	if best != purego && len(rows) > 0 {
		n = len(dst) &^ 63
	}
	for at := 0; at < n; at += runRowTerms {
		cols := min(n-at, runRowTerms)
		from := src
		for left, step := rows, runRowTerms/cols; len(left) > 0; left = left[min(step, len(left)):] {
			addRowsRun(dst[at:at+cols], f[at:], from[at:], w[at:], stride, left[:min(step, len(left))])
			from = dst
		}
	}
	if n < len(dst) {
		refAddRows(dst[n:], f[n:], src[n:], w[n:], stride, rows)
	}
}

//go:noinline
func addRowsRun(dst []float64, f []float32, src []float64, w []float32, stride int, rows []int32) {
	if best == avx512 {
		addRowsAVX512(&dst[0], &f[0], &src[0], &w[0], stride, &rows[0], len(rows), len(dst))
	} else {
		addRowsAVX2(&dst[0], &f[0], &src[0], &w[0], stride, &rows[0], len(rows), len(dst))
	}
}

func addRows64(dst, src, w []float64, stride int, rows []int32) {
	n := 0
	if best != purego && len(rows) > 0 {
		n = len(dst) &^ 63
	}
	for at := 0; at < n; at += runRowTerms {
		cols := min(n-at, runRowTerms)
		from := src
		for left, step := rows, runRowTerms/cols; len(left) > 0; left = left[min(step, len(left)):] {
			addRows64Run(dst[at:at+cols], from[at:], w[at:], stride, left[:min(step, len(left))])
			from = dst
		}
	}
	if n < len(dst) {
		refAddRows64(dst[n:], src[n:], w[n:], stride, rows)
	}
}

//go:noinline
func addRows64Run(dst, src, w []float64, stride int, rows []int32) {
	if best == avx512 {
		addRows64AVX512(&dst[0], &src[0], &w[0], stride, &rows[0], len(rows), len(dst))
	} else {
		addRows64AVX2(&dst[0], &src[0], &w[0], stride, &rows[0], len(rows), len(dst))
	}
}

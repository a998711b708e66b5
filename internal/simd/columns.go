package simd

// resized returns a slice of n entries, which uses the memory of v if that is large enough.
func resized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// refAddRows is the reference of Changes.Add for matrix rows of the given stride.
func refAddRows(dst []float64, f []float32, src []float64, w []float32, stride int, rows []int32) {
	copy(dst, src)
	for _, r := range rows {
		at := int(r^(r>>31)) * stride
		row := w[at : at+len(dst)]
		if r >= 0 {
			for j, v := range row {
				dst[j] += float64(v)
			}
		} else {
			for j, v := range row {
				dst[j] -= float64(v)
			}
		}
	}
	for j, v := range dst {
		f[j] = float32(v)
	}
}

// refAddRows64 is the reference of Changes.Add64 for matrix rows of the given stride.
func refAddRows64(dst, src, w []float64, stride int, rows []int32) {
	copy(dst, src)
	for _, r := range rows {
		at := int(r^(r>>31)) * stride
		row := w[at : at+len(dst)]
		if r >= 0 {
			for j, v := range row {
				dst[j] += v
			}
		} else {
			for j, v := range row {
				dst[j] -= v
			}
		}
	}
}

// runRowTerms is the largest number of terms in one call of addRows; with AVX2 a term takes about
// 0.2 ns.
const runRowTerms = 1 << 17

func changes(rows, y, x []int32) int {
	if best < changesLevel {
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

// shift adds an offset to the site number of each entry of rows. The entry for site i is i or ^i.
func shift(rows []int32, by int32) {
	for k, r := range rows {
		sign := r >> 31
		rows[k] = ((r ^ sign) + by) ^ sign
	}
}

package simd

// The definitions, in plain Go, of the bits that every backend of columns.go gives.

// refChanges stores in rows the sites i where y is above x, and ^i for those below, and
// returns their number. What is behind them in rows is anything.
func refChanges(rows, y, x []int32) int {
	n := 0
	x = x[:len(y)]
	for i, v := range y {
		d := v - x[i] // −1, 0 or 1
		rows[n] = int32(i) ^ d>>31
		n += int(d & 1)
	}
	return n
}

// refAddRows adds rows that lie stride apart.
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

// refAddRows64 adds rows that lie stride apart.
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

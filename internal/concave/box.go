package concave

// settled is the move of a coordinate, in standard deviations and relative to
// 1/Scale, below which a sweep has ended the search.
const settled = 1e-4

// subtract takes c·row from r, of the same length.
func subtract(r, row []float64, c float64) {
	r = r[:len(row)]
	for len(row) >= 4 && len(r) >= 4 {
		r[0] -= float64(c * row[0])
		r[1] -= float64(c * row[1])
		r[2] -= float64(c * row[2])
		r[3] -= float64(c * row[3])
		row, r = row[4:], r[4:]
	}
	for k, v := range row {
		r[k] -= float64(c * v)
	}
}

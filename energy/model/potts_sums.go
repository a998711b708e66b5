package model

// raise adds c to the energy of a level in a row that holds energies relative
// to level 0.
func raise(row []float64, level int32, c float64) {
	if level > 0 {
		row[level] += c
		return
	}
	for l := 1; l < len(row); l++ {
		row[l] -= c
	}
}

// torusAround returns the neighbours of site i on a torus of n sites.
func torusAround(i, cols, n int) (left, right, above, below int) {
	left, right, above, below = i-1, i+1, i-cols, i+cols
	switch col := int(uint32(i) % uint32(cols)); col {
	case 0:
		left += cols
	case cols - 1:
		right -= cols
	}
	if above < 0 {
		above += n
	}
	if below >= n {
		below -= n
	}
	return left, right, above, below
}

// torusMatches returns the number of bonds between equal levels on a torus.
func torusMatches(x []int32, cols int) int {
	sum := matches(x[:len(x)-cols], x[cols:]) + matches(x[len(x)-cols:], x[:cols])
	for at := 0; at < len(x); at += cols {
		row := x[at : at+cols]
		sum += matches(row[:cols-1], row[1:])
		if row[0] == row[cols-1] {
			sum++
		}
	}
	return sum
}

// matches returns the number of places where x and y agree.
func matches(x, y []int32) int {
	y = y[:len(x)]
	sum := 0
	for i, v := range x {
		if v == y[i] {
			sum++
		}
	}
	return sum
}

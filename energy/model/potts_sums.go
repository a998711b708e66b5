package model

// neighbours stores in near[l] the weight of the bonds between site i and its
// neighbours of level l. It returns the part of near[x_i] that this site
// accounts for, so that the sum over all sites counts every bond once.
func (m *Potts) neighbours(near []float64, i int, x []int32) (matched float64) {
	clear(near)
	own := x[i]
	if m.cols > 0 {
		left, right, above, below := torusAround(i, m.cols, len(x))
		near[x[left]]++
		near[x[right]]++
		near[x[above]]++
		near[x[below]]++
		return near[own] / 2 // exact: a small integer
	}
	g := m.graph
	for k := g.start[i]; k < g.start[i+1]; k++ {
		l := x[g.adj[k]]
		near[l] += g.weight[k]
		if k >= g.upper[i] && l == own {
			matched += g.weight[k]
		}
	}
	return matched
}

// differences turns what neighbours left in d into E(x_i = l) − E(x_i = from).
func (m *Potts) differences(d []float64, from int) {
	own, field := d[from], m.field[from]
	for l := range d {
		d[l] = float64(m.coupling*(own-d[l])) + (field - m.field[l])
	}
}

// total returns the energy of x, given the weight of its bonds between equals.
func (m *Potts) total(bonds float64, x []int32) float64 {
	sum := 0.0
	for _, l := range x {
		sum += m.field[l]
	}
	return 0 - float64(m.coupling*bonds) - sum
}

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

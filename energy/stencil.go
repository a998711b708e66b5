package energy

// stencil computes neighbour sums on a periodic lattice without index arrays.
// All its sums are of integers and exact.
type stencil struct {
	sides  []int
	sites  int
	degree int // neighbours of every site
}

// newStencil returns the stencil of a lattice whose sides have been checked.
func newStencil(l Lattice) *stencil {
	s := &stencil{sides: append([]int(nil), l...), sites: l.Sites()}
	for _, side := range l {
		s.degree += min(side-1, 2)
	}
	return s
}

// bonds returns the number of bonds of the lattice.
func (s *stencil) bonds() int { return s.sites * s.degree / 2 }

// pairs returns Σ x_i x_j over the bonds and Σ x_i.
func (s *stencil) pairs(x []int32) (pairs, up int) {
	for _, v := range x {
		up += int(v)
	}
	stride := s.sites
	for _, side := range s.sides {
		block := stride
		stride /= side
		if side == 1 {
			continue
		}
		for b := 0; b < len(x); b += block {
			row := x[b : b+block]
			pairs += overlap(row[:block-stride], row[stride:])
			if side > 2 {
				pairs += overlap(row[:stride], row[block-stride:])
			}
		}
	}
	return pairs, up
}

// counts stores in h[i] = table[k], k = Σ x_j over the neighbours of site i,
// and returns Σ x_i k_i and Σ x_i. len(table) is a power of two, greater than
// the degree and at least 8.
func (s *stencil) counts(h []float32, table []float32, x []int32) (twice, up int) {
	if len(s.sides) == 2 && s.sides[0] > 2 && s.sides[1] > 2 {
		return torus(h, (*[8]float32)(table), x, s.sides[1])
	}
	clear(h)
	stride := s.sites
	for _, side := range s.sides {
		block := stride
		stride /= side
		if side == 1 {
			continue
		}
		for b := 0; b < len(x); b += block {
			row, sum := x[b:b+block], h[b:b+block]
			add(sum[:block-stride], row[stride:])
			add(sum[stride:], row[:block-stride])
			if side > 2 {
				add(sum[block-stride:], row[:stride])
				add(sum[:stride], row[block-stride:])
			}
		}
	}
	mask := len(table) - 1
	for i, v := range x {
		k := int(h[i])
		h[i] = table[k&mask]
		twice += int(v) * k
		up += int(v)
	}
	return twice, up
}

// torus is counts on a two-dimensional lattice with sides ≥ 3, in one pass.
func torus(h []float32, table *[8]float32, x []int32, cols int) (twice, up int) {
	for at := 0; at < len(x); at += cols {
		above, below := at-cols, at+cols
		if above < 0 {
			above = len(x) - cols
		}
		if below == len(x) {
			below = 0
		}
		t, u := torusRow(h[at:at+cols], table, x[above:above+cols], x[at:at+cols], x[below:below+cols])
		twice += t
		up += u
	}
	return twice, up
}

// torusRow is one row of torus, between its neighbours above and below.
func torusRow(h []float32, table *[8]float32, above, row, below []int32) (twice, up int) {
	n := len(row)
	h, above, below = h[:n], above[:n], below[:n]
	left, here := row[n-1], row[0]
	for j := 0; j < n-1; j++ {
		right := row[j+1]
		k := left + right + above[j] + below[j]
		h[j] = table[k&7]
		twice += int(here * k)
		up += int(here)
		left, here = here, right
	}
	k := left + row[0] + above[n-1] + below[n-1]
	h[n-1] = table[k&7]
	return twice + int(here*k), up + int(here)
}

// overlap returns Σ x_i y_i.
func overlap(x, y []int32) int {
	y = y[:len(x)]
	sum := 0
	for i, v := range x {
		sum += int(v * y[i])
	}
	return sum
}

// add stores h_i + x_i in h. The sums are small integers, exact in float32.
func add(h []float32, x []int32) {
	h = h[:len(x)]
	for i, v := range x {
		h[i] += float32(v)
	}
}

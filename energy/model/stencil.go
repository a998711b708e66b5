package model

import "github.com/gibbsite-go/gibbsite/internal/simd"

// stencil computes sums over neighbours on a periodic lattice without index arrays. All its sums
// are of integers and exact.
type stencil struct {
	sides  []int
	sites  int
	degree int // number of neighbours of every site
}

// newStencil returns the stencil of a lattice with valid sides.
func newStencil(l []int) *stencil {
	s := &stencil{sides: append([]int(nil), l...), sites: product(l)}
	for _, side := range l {
		s.degree += min(side-1, 2)
	}
	return s
}

// flat reports whether the lattice has two dimensions and all sides are at least 3.
func (s *stencil) flat() bool { return len(s.sides) == 2 && s.sides[0] > 2 && s.sides[1] > 2 }

// bonds returns the number of bonds of the lattice.
func (s *stencil) bonds() int { return s.sites * s.degree / 2 }

// pairs returns Σ x_i x_j over the bonds as pairs, and Σ x_i as up.
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

// counts stores table[k_i] in h[i], where k_i = Σ x_j over the neighbours j of site i. It returns Σ
// x_i k_i as twice and Σ x_i as up. len(table) must be a power of two, greater than the degree and
// at least 8.
func (s *stencil) counts(h []float32, table []float32, x []int32) (twice, up int) {
	if s.flat() {
		return simd.Torus(h, (*[8]float32)(table), x, s.sides[1])
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

// overlap returns Σ x_i y_i over the entries of two slices of 0s and 1s.
func overlap(x, y []int32) int {
	y = y[:len(x)]
	sum := 0
	for i, v := range x {
		sum += int(v * y[i])
	}
	return sum
}

// add adds x_i to h_i for every i. The sums are small integers, exact in float32.
func add(h []float32, x []int32) {
	h = h[:len(x)]
	for i, v := range x {
		h[i] += float32(v)
	}
}

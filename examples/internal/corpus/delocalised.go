package corpus

import "slices"

// either is the order of a bond that is single in one Kekulé structure of a molecule and double
// in another.
const either = 4

// mostStructures is the maximum number of Kekulé structures of a molecule that are generated.
// Molecules of nine atoms have at most three.
const mostStructures = 256

// delocalised returns the molecule with the bonds that differ between its Kekulé structures
// marked. Two structures are of one molecule if alternating double and single bonds are shifted
// around rings of 4n + 2 atoms (Hückel). Thus CC1=CN=CC=N1 and CC1=NC=CN=C1 are the same, but
// CC1=CC=C1C and CC1=C(C)C=C1 are not.
func (m *molecule) delocalised() *molecule {
	if len(m.alternating()) == 0 {
		return m
	}
	d := m.clone()
	known := map[string]bool{m.orders(): true}
	for todo := []*molecule{m}; len(todo) > 0; todo = todo[1:] {
		for _, ring := range todo[0].alternating() {
			other := todo[0].clone()
			for k, a := range ring {
				b := ring[(k+1)%len(ring)]
				d.setOrder(a, b, either)
				other.setOrder(a, b, 3-other.order(a, b))
			}
			if key := other.orders(); !known[key] && len(known) < mostStructures {
				known[key] = true
				todo = append(todo, other)
			}
		}
	}
	return d
}

// orders returns a key that distinguishes the Kekulé structures of one molecule.
func (m *molecule) orders() string {
	var b []byte
	for _, next := range m.next {
		for _, l := range next {
			b = append(b, byte(l.order))
		}
	}
	return string(b)
}

// alternating returns the rings of 4n + 2 atoms whose bonds are alternately double and single.
// Each begins with its first atom and that atom's double bond.
func (m *molecule) alternating() (rings [][]int) {
	// atom at the other end of an atom's only double bond; −1 for none
	double := make([]int, len(m.next))
	for i, next := range m.next {
		double[i] = -1
		for _, l := range next {
			switch {
			case l.order == 1:
			case l.order == 2 && double[i] == -1:
				double[i] = l.to
			default:
				double[i] = -2
			}
		}
	}
	var path []int
	var follow func(at int)
	follow = func(at int) { // the path ends with a double bond to at
		for _, l := range m.next[at] {
			switch to := l.to; {
			case l.order != 1:
			case to == path[0]:
				if len(path)%4 == 2 {
					rings = append(rings, slices.Clone(path))
				}
			case to > path[0] && double[to] > path[0] && double[double[to]] == to && !slices.Contains(path, to):
				path = append(path, to, double[to])
				follow(double[to])
				path = path[:len(path)-2]
			}
		}
	}
	for i, j := range double {
		if j > i && double[j] == i {
			path = append(path[:0], i, j)
			follow(j)
		}
	}
	return rings
}

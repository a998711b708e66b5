package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// molecule is a graph of atoms and bonds without hydrogens.
type molecule struct {
	label []string // label of each atom: the element, with charge and hydrogens where needed
	next  [][]link // neighbours of each atom
}

// link is a bond from the point of view of one atom: the other atom and the bond order.
type link struct{ to, order int }

// add appends an atom and returns its number.
func (m *molecule) add(label string) int {
	m.label = append(m.label, label)
	m.next = append(m.next, nil)
	return len(m.label) - 1
}

// bind joins two atoms by a bond of the given order.
func (m *molecule) bind(a, b, order int) {
	m.next[a] = append(m.next[a], link{b, order})
	m.next[b] = append(m.next[b], link{a, order})
}

// valence returns the sum of the orders of an atom's bonds.
func (m *molecule) valence(i int) int {
	n := 0
	for _, l := range m.next[i] {
		n += l.order
	}
	return n
}

// order returns the order of the bond between two atoms, 0 if there is none.
func (m *molecule) order(a, b int) int {
	for _, l := range m.next[a] {
		if l.to == b {
			return l.order
		}
	}
	return 0
}

// setOrder changes the order of the bond between two neighbours.
func (m *molecule) setOrder(a, b, order int) {
	for _, end := range [2][2]int{{a, b}, {b, a}} {
		for k, l := range m.next[end[0]] {
			if l.to == end[1] {
				m.next[end[0]][k].order = order
			}
		}
	}
}

// clone returns a deep copy.
func (m *molecule) clone() *molecule {
	c := &molecule{label: slices.Clone(m.label), next: make([][]link, len(m.next))}
	for i, n := range m.next {
		c.next[i] = slices.Clone(n)
	}
	return c
}

// bonded reports whether two atoms are neighbours.
func (m *molecule) bonded(a, b int) bool {
	return slices.ContainsFunc(m.next[a], func(l link) bool { return l.to == b })
}

// key returns a canonical text, equal for two molecules exactly if they are the same graph, and
// the corresponding order of the atoms. The text is the least one over all orders that colour
// refinement leaves open.
func (m *molecule) key() (text string, order []int) {
	s := canon{m: m}
	s.search(m.colours())
	return s.best, s.order
}

// colours returns the rank of each atom's label among all labels.
func (m *molecule) colours() []int {
	colour := make([]int, len(m.label))
	labels := slices.Clone(m.label)
	slices.Sort(labels)
	labels = slices.Compact(labels)
	for i, l := range m.label {
		colour[i], _ = slices.BinarySearch(labels, l)
	}
	return colour
}

type canon struct {
	m     *molecule
	best  string
	order []int
}

// search refines the colours. If they are still ambiguous, it branches on the atoms of the first
// ambiguous colour.
func (s *canon) search(colour []int) {
	s.refine(colour)
	n := len(colour)
	count := make([]int, n)
	for _, c := range colour {
		count[c]++
	}
	cell := slices.IndexFunc(count, func(k int) bool { return k > 1 })
	if cell < 0 {
		if text := s.text(colour); s.best == "" || text < s.best {
			s.best, s.order = text, make([]int, n)
			for i, c := range colour {
				s.order[c] = i
			}
		}
		return
	}
	tried := make(map[link]bool) // leaves of one atom by one kind of bond are alike
	for i, c := range colour {
		if c != cell {
			continue
		}
		if len(s.m.next[i]) == 1 {
			if tried[s.m.next[i][0]] {
				continue
			}
			tried[s.m.next[i][0]] = true
		}
		finer := slices.Clone(colour)
		for j := range finer {
			if j != i && finer[j] >= cell {
				finer[j]++
			}
		}
		s.search(finer)
	}
}

// refine splits colours by the colours of the neighbours until nothing changes. Colours are 0 …
// n−1, in an order that does not depend on the numbering of the atoms.
func (s *canon) refine(colour []int) {
	n := len(colour)
	sign, sorted := make([][]int, n), make([][]int, n)
	for kinds := -1; ; {
		for i := range sign {
			sign[i] = append(sign[i][:0], colour[i])
			for _, l := range s.m.next[i] {
				sign[i] = append(sign[i], colour[l.to]<<3|l.order)
			}
			slices.Sort(sign[i][1:])
		}
		copy(sorted, sign)
		slices.SortFunc(sorted, slices.Compare)
		k := 0
		for i := range sorted {
			if i > 0 && slices.Equal(sorted[i], sorted[i-1]) {
				continue
			}
			k++
		}
		for i := range colour {
			colour[i], _ = slices.BinarySearchFunc(sorted, sign[i], slices.Compare)
		}
		if k == kinds {
			return
		}
		kinds = k
	}
}

// text returns the graph as text, with atoms in the order of their colours.
func (s *canon) text(colour []int) string {
	n := len(colour)
	at := make([]int, n)
	for i, c := range colour {
		at[c] = i
	}
	var b strings.Builder
	for c, i := range at {
		b.WriteString(s.m.label[i])
		var back []link
		for _, l := range s.m.next[i] {
			if colour[l.to] < c {
				back = append(back, link{colour[l.to], l.order})
			}
		}
		slices.SortFunc(back, func(a, b link) int { return a.to - b.to })
		for _, l := range back {
			fmt.Fprintf(&b, "%d%c", l.to, " -=#:"[l.order])
		}
		b.WriteByte(';')
	}
	return b.String()
}

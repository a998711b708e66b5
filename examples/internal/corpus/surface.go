package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// PolarSurface returns the topological polar surface area of a molecule in Å² (Ertl, Rohde and
// Selzer 2000). It is the sum of the contributions of nitrogens and oxygens, which depend on
// their bonds, hydrogens, charge and ring. The string is parsed by the same parser as in the
// validity check. The error states why the string is not a molecule.
//
// A ring of five or six atoms counts as aromatic if it has six π electrons. Each ring is considered
// separately, so the rings of a fused system do not share their electrons.
func PolarSurface(text string) (float64, error) {
	m, err := parse(text)
	if err != nil {
		return 0, err
	}
	return polarSurface(m), nil
}

// polarSurface returns the polar surface of a molecule.
func polarSurface(m *molecule) float64 {
	s := surface{m: m, small: make([]bool, len(m.label)), aromatic: make([]bool, len(m.label))}
	s.rings()
	area := 0.0
	for i := range m.label {
		area += s.atom(i)
	}
	return area
}

type surface struct {
	m               *molecule
	small, aromatic []bool // whether each atom is in a ring of three, or in an aromatic ring
}

// rings marks the atoms in rings of three and in aromatic rings.
func (s *surface) rings() {
	for _, ring := range s.m.rings() {
		switch {
		case len(ring) == 3:
			for _, i := range ring {
				s.small[i] = true
			}
		case s.m.aromatic(ring):
			for _, i := range ring {
				s.aromatic[i] = true
			}
		}
	}
}

// rings returns the smallest ring through every bond, each ring once.
func (m *molecule) rings() [][]int {
	var all [][]int
	known := make(map[string]bool)
	for a, next := range m.next {
		for _, l := range next {
			if l.to < a {
				continue
			}
			ring := m.ring(a, l.to)
			if key := fmt.Sprint(slices.Sorted(slices.Values(ring))); ring != nil && !known[key] {
				known[key] = true
				all = append(all, ring)
			}
		}
	}
	return all
}

// ring returns the smallest ring through the bond from a to b, or nil if there is none.
func (m *molecule) ring(a, b int) []int {
	from := map[int]int{a: -1}
	for queue := []int{a}; len(queue) > 0; queue = queue[1:] {
		for _, l := range m.next[queue[0]] {
			if _, seen := from[l.to]; seen || queue[0] == a && l.to == b {
				continue
			}
			from[l.to] = queue[0]
			queue = append(queue, l.to)
		}
	}
	if _, ok := from[b]; !ok {
		return nil
	}
	var ring []int
	for i := b; i >= 0; i = from[i] {
		ring = append(ring, i)
	}
	return ring
}

// aromatic reports whether a ring of five or six atoms has six π electrons.
func (m *molecule) aromatic(ring []int) bool {
	return (len(ring) == 5 || len(ring) == 6) && m.electrons(ring) == 6
}

// electrons returns the number of π electrons of a ring, or −1 if an atom interrupts the
// conjugation.
func (m *molecule) electrons(ring []int) int {
	n := 0
	for _, i := range ring {
		inside, outside, triple := false, false, false
		for _, l := range m.next[i] {
			triple = triple || l.order > 2
			if l.order == 2 {
				if slices.Contains(ring, l.to) {
					inside = true
				} else {
					outside = element(m.label[l.to]) != "O"
				}
			}
		}
		double := slices.ContainsFunc(m.next[i], func(l link) bool { return l.order == 2 })
		switch e := element(m.label[i]); {
		case triple || outside:
			return -1
		case inside:
			n++
		case double: // a carbonyl has none to give
		case e == "N" || e == "O" || e == "S":
			n += 2
		default:
			return -1
		}
	}
	return n
}

// element returns the element symbol of a label.
func element(label string) string {
	if label[0] != '[' {
		return label
	}
	end := 2
	for end < len(label) && label[end] >= 'a' && label[end] <= 'z' {
		end++
	}
	return label[1:end]
}

// hydrogens returns the number of hydrogens of an atom.
func (m *molecule) hydrogens(i int) int {
	if label := m.label[i]; label[0] == '[' {
		return counted(label, 'H')
	}
	return filled(m.label[i], m.valence(i))
}

// charge returns the charge of an atom with the given label.
func charge(label string) int {
	if label[0] != '[' {
		return 0
	}
	return counted(label, '+') - counted(label, '-')
}

// contribution is a row of the paper's table.
type contribution struct {
	element           string
	hydrogens, charge int
	bonds             string // orders of the bonds to other atoms, ascending; a for aromatic
	small             bool
	area              float64
}

// contributions is the table for nitrogen and oxygen.
var contributions = []contribution{
	{"N", 0, 0, "111", true, 3.01}, {"N", 1, 0, "11", true, 21.94}, {"O", 0, 0, "11", true, 12.53},
	{"N", 0, 0, "111", false, 3.24}, {"N", 0, 0, "12", false, 12.36}, {"N", 0, 0, "3", false, 23.79},
	{"N", 0, 0, "122", false, 11.68}, {"N", 0, 0, "23", false, 13.60}, {"N", 1, 0, "11", false, 12.03},
	{"N", 1, 0, "2", false, 23.85}, {"N", 2, 0, "1", false, 26.02},
	{"N", 0, 1, "1111", false, 0}, {"N", 0, 1, "112", false, 3.01}, {"N", 0, 1, "13", false, 4.36},
	{"N", 1, 1, "111", false, 4.44}, {"N", 1, 1, "12", false, 13.97}, {"N", 2, 1, "11", false, 16.61},
	{"N", 2, 1, "2", false, 25.59}, {"N", 3, 1, "1", false, 27.64},
	{"N", 0, 0, "aa", false, 12.89}, {"N", 0, 0, "aaa", false, 4.41}, {"N", 0, 0, "1aa", false, 4.93},
	{"N", 0, 0, "2aa", false, 8.39}, {"N", 1, 0, "aa", false, 15.79}, {"N", 0, 1, "aaa", false, 4.10},
	{"N", 0, 1, "1aa", false, 3.88}, {"N", 1, 1, "aa", false, 14.14},
	{"O", 0, 0, "11", false, 9.23}, {"O", 0, 0, "2", false, 17.07}, {"O", 1, 0, "1", false, 20.23},
	{"O", 0, -1, "1", false, 23.06}, {"O", 0, 0, "aa", false, 13.14},
}

// atom returns the contribution of an atom.
func (s *surface) atom(i int) float64 {
	label := s.m.label[i]
	c := contribution{element: element(label), small: s.small[i]}
	c.hydrogens, c.charge = s.m.hydrogens(i), charge(label)
	if c.element != "N" && c.element != "O" {
		return 0
	}
	var bonds []string
	for _, l := range s.m.next[i] {
		if ring := s.m.ring(i, l.to); s.aromatic[i] && s.aromatic[l.to] && s.m.aromatic(ring) {
			bonds = append(bonds, "a")
		} else {
			bonds = append(bonds, fmt.Sprint(l.order))
		}
	}
	slices.Sort(bonds)
	c.bonds = strings.Join(bonds, "")
	for _, small := range []bool{c.small, false} {
		for _, t := range contributions {
			if t.element == c.element && t.hydrogens == c.hydrogens && t.charge == c.charge && t.bonds == c.bonds && t.small == small {
				return t.area
			}
		}
	}
	// The formula of the authors' program for what the table has not.
	neighbours, hydrogens := float64(len(bonds)), float64(c.hydrogens)
	if c.element == "N" {
		return max(0, 30.5-8.2*neighbours+1.5*hydrogens)
	}
	return max(0, 28.5-8.6*neighbours+1.5*hydrogens)
}

// counted returns the number after a letter of a label. It is 1 if there is no number and 0 if
// there is no such letter.
func counted(label string, letter byte) int {
	at := strings.IndexByte(label[2:], letter)
	if at < 0 {
		return 0
	}
	if digit := label[at+3]; digit >= '0' && digit <= '9' {
		return int(digit - '0')
	}
	return 1
}

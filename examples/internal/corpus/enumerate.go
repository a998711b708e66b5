package corpus

import (
	"slices"
	"strings"
)

// mostRings is the maximum number of rings of a generated molecule.
const mostRings = 1

// elements lists the atoms of the generated molecules with their valences.
var elements = []struct {
	symbol  string
	valence int
}{{"C", 4}, {"N", 3}, {"O", 2}, {"F", 1}}

// molecules returns the SMILES of all molecules with up to the given number of atoms and
// mostRings rings. It adds atoms by single, double or triple bonds in all ways, and then closes
// a ring by a single or double bond, as far as valences allow. Hydrogens fill the remaining
// valences.
func molecules(atoms int) []string {
	var all []string
	known := make(map[string]bool)
	fresh := func(m *molecule) bool {
		key, _ := m.key()
		if known[key] {
			return false
		}
		known[key] = true
		all = append(all, write(m))
		return true
	}
	var chains []*molecule
	for _, e := range elements {
		m := new(molecule)
		m.add(e.symbol)
		fresh(m)
		chains = append(chains, m)
	}
	for size := 2; size <= atoms; size++ {
		var larger []*molecule
		for _, m := range chains {
			for at := range m.label {
				for _, e := range elements {
					for order := 1; order <= min(3, free(m, at), e.valence); order++ {
						c := m.clone()
						c.bind(at, c.add(e.symbol), order)
						if fresh(c) {
							larger = append(larger, c)
						}
					}
				}
			}
		}
		chains = larger
		open := larger
		for range mostRings {
			var closed []*molecule
			for _, m := range open {
				for a := range m.label {
					for b := range a {
						for order := 1; order <= min(2, free(m, a), free(m, b)) && !m.bonded(a, b); order++ {
							c := m.clone()
							c.bind(a, b, order)
							if fresh(c) {
								closed = append(closed, c)
							}
						}
					}
				}
			}
			open = closed
		}
	}
	slices.Sort(all)
	return all
}

// free returns the number of bonds that an atom can still form.
func free(m *molecule, at int) int {
	left := 0
	for _, e := range elements {
		if e.symbol == m.label[at] {
			left = e.valence
		}
	}
	for _, l := range m.next[at] {
		left -= l.order
	}
	return left
}

// write returns a SMILES string that depends only on the molecule, not on the numbering of its
// atoms. It traverses the molecule depth first from an end, with shorter branches first and ties
// in canonical order.
func write(m *molecule) string {
	_, order := m.key()
	w := writer{m: m, rank: make([]int, len(order)), parent: make([]int, len(order)), seen: make([]bool, len(order)), rings: make([][]ring, len(order))}
	for r, i := range order {
		w.rank[i] = r
	}
	start := order[0]
	for _, i := range order {
		if len(m.next[i]) <= 1 {
			start = i
			break
		}
	}
	w.findRings(start, -1)
	clear(w.seen)
	return w.atom(start)
}

type writer struct {
	m      *molecule
	rank   []int
	parent []int
	seen   []bool
	rings  [][]ring // ends of ring-closing bonds, by atom
	closed int
}

// ring is one end of a bond that closes a ring.
type ring struct {
	digit, order int
	opens        bool
}

// children returns the neighbours of an atom in canonical order.
func (w *writer) children(i int) []link {
	c := slices.Clone(w.m.next[i])
	slices.SortFunc(c, func(a, b link) int { return w.rank[a.to] - w.rank[b.to] })
	return c
}

// findRings traverses the molecule and numbers the bonds that close rings.
func (w *writer) findRings(i, from int) {
	w.seen[i], w.parent[i] = true, from
	for _, l := range w.children(i) {
		switch {
		case l.to == from:
		case !w.seen[l.to]:
			w.findRings(l.to, i)
		case w.above(l.to, i):
			w.closed++
			w.rings[l.to] = append(w.rings[l.to], ring{w.closed, l.order, true})
			w.rings[i] = append(w.rings[i], ring{w.closed, l.order, false})
		}
	}
}

// above reports whether atom a is an ancestor of b.
func (w *writer) above(a, b int) bool {
	for b >= 0 {
		if b = w.parent[b]; b == a {
			return true
		}
	}
	return false
}

// atom returns the SMILES of the part of the molecule that begins at atom i.
func (w *writer) atom(i int) string {
	w.seen[i] = true
	var b strings.Builder
	b.WriteString(w.m.label[i])
	for _, r := range w.rings[i] {
		if r.opens {
			b.WriteString(bondText[r.order])
		}
		b.WriteByte(byte('0' + r.digit))
	}
	var branches []string
	for _, l := range w.children(i) {
		if !w.seen[l.to] && w.parent[l.to] == i {
			branches = append(branches, bondText[l.order]+w.atom(l.to))
		}
	}
	slices.SortStableFunc(branches, func(a, b string) int { return len(a) - len(b) })
	for n, s := range branches {
		if n < len(branches)-1 {
			s = "(" + s + ")"
		}
		b.WriteString(s)
	}
	return b.String()
}

var bondText = []string{1: "", 2: "=", 3: "#"}

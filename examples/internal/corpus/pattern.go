package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// graph is a molecule as patterns see it.
type graph struct {
	m *molecule
	// for every atom: bonds including those to hydrogens and their total order, hydrogens,
	// charge, number of rings, and whether a ring of it is aromatic
	links, valence, hydrogens, charge, rings []int
	aromatic                                 []bool
	cycles                                   [][]int // the rings
	bonds                                    map[[2]int]bond
}

// bond is the order of a bond, or aromatic, and whether it is in a ring.
type bond struct {
	order          int
	ring, aromatic bool
}

// newGraph returns a molecule for patterns. With hydrogens, they are atoms of their own.
func newGraph(m *molecule, hydrogens bool) *graph {
	whole := m
	if hydrogens {
		whole = m.clone()
		for i := range m.label {
			for range m.hydrogens(i) {
				whole.bind(i, whole.add("[H]"), 1)
			}
		}
	}
	n := len(whole.label)
	g := &graph{
		m: whole, links: make([]int, n), valence: make([]int, n), hydrogens: make([]int, n), charge: make([]int, n),
		rings: make([]int, n), aromatic: make([]bool, n), cycles: m.rings(), bonds: make(map[[2]int]bond),
	}
	for i, next := range whole.next {
		if i < len(m.label) {
			g.hydrogens[i], g.charge[i] = m.hydrogens(i), charge(m.label[i])
			g.links[i], g.valence[i] = len(m.next[i])+g.hydrogens[i], m.valence(i)+g.hydrogens[i]
		} else {
			g.links[i], g.valence[i] = 1, 1
		}
		for _, l := range next {
			g.bonds[[2]int{i, l.to}] = bond{order: l.order}
		}
	}
	for _, ring := range g.cycles {
		aromatic := m.aromatic(ring)
		for k, a := range ring {
			g.rings[a]++
			g.aromatic[a] = g.aromatic[a] || aromatic
			for _, pair := range [2][2]int{{a, ring[(k+1)%len(ring)]}, {ring[(k+1)%len(ring)], a}} {
				b := g.bonds[pair]
				b.ring, b.aromatic = true, b.aromatic || aromatic
				g.bonds[pair] = b
			}
		}
	}
	return g
}

// pattern describes a part of a molecule in the language SMARTS (Daylight Theory Manual, chapter
// 4). It has atoms, bonds, branches, rings and recursion, but neither stereochemistry nor isotopes.
type pattern struct{ atoms []spot }

// spot is an atom of a pattern: the test of the atom, and its bonds to earlier atoms of the
// pattern. The first bond is the one over which a match arrives; without bonds, the atom may be
// anywhere.
type spot struct {
	test  func(g *graph, i int) bool
	bonds []tie
}

// tie is a bond of a pattern to an earlier atom.
type tie struct {
	to   int
	test func(bond) bool
}

// at reports whether the pattern matches with its first atom at i.
func (p *pattern) at(g *graph, i int) bool {
	found := false
	p.match(g, append(make([]int, 0, len(p.atoms)), i), func([]int) bool { found = true; return false })
	return found
}

// count returns the number of different sets of atoms that the pattern matches.
func (p *pattern) count(g *graph) int {
	sets := make(map[string]bool)
	for i := range g.m.label {
		p.match(g, append(make([]int, 0, len(p.atoms)), i), func(at []int) bool {
			sets[fmt.Sprint(slices.Sorted(slices.Values(at)))] = true
			return true
		})
	}
	return len(sets)
}

// in reports whether the pattern matches anywhere.
func (p *pattern) in(g *graph) bool {
	for i := range g.m.label {
		if p.at(g, i) {
			return true
		}
	}
	return false
}

// match calls found with all matches that begin with the atoms at, the last of which has not been
// tested. It returns false once found does.
func (p *pattern) match(g *graph, at []int, found func([]int) bool) bool {
	k := len(at) - 1
	s, last := p.atoms[k], at[k]
	if slices.Contains(at[:k], last) || !s.test(g, last) {
		return true
	}
	for _, t := range s.bonds {
		if b, ok := g.bonds[[2]int{at[t.to], last}]; !ok || !t.test(b) {
			return true
		}
	}
	if k+1 == len(p.atoms) {
		return found(at)
	}
	next := p.atoms[k+1]
	if len(next.bonds) == 0 {
		for i := range g.m.label {
			if !p.match(g, append(at, i), found) {
				return false
			}
		}
		return true
	}
	for _, l := range g.m.next[at[next.bonds[0].to]] {
		if !p.match(g, append(at, l.to), found) {
			return false
		}
	}
	return true
}

// smarts parses a pattern. It panics if the pattern is wrong: all patterns are constants.
func smarts(text string) *pattern {
	p, at, rest := new(pattern), -1, text
	var stack []int
	open := make(map[byte]tie)
	connect := plain
	for rest != "" {
		c := rest[0]
		switch {
		case c == '(':
			stack, rest = append(stack, at), rest[1:]
		case c == ')':
			at, stack, rest = stack[len(stack)-1], stack[:len(stack)-1], rest[1:]
		case c == '.':
			at, rest = -1, rest[1:]
		case strings.IndexByte("-=#:~@!", c) >= 0:
			n := len(rest) - len(strings.TrimLeft(rest, "-=#:~@!"))
			connect, rest = bonds(rest[:n]), rest[n:]
		case c >= '0' && c <= '9':
			if o, ok := open[c]; ok {
				delete(open, c)
				p.atoms[at].bonds = append(p.atoms[at].bonds, o)
			} else {
				open[c] = tie{at, connect}
			}
			connect, rest = plain, rest[1:]
		default:
			var s spot
			if c == '[' {
				n := closing(rest, '[', ']')
				s.test, rest = atoms(rest[1:n]), rest[n+1:]
			} else {
				s.test, rest = primitive(rest)
			}
			if at >= 0 {
				s.bonds = []tie{{at, connect}}
			}
			p.atoms = append(p.atoms, s)
			at, connect = len(p.atoms)-1, plain
		}
	}
	return p
}

// plain is the test of a bond that is not written: single or aromatic.
func plain(b bond) bool { return b.order == 1 || b.aromatic }

// bonds returns the test of a bond that has all the given properties.
func bonds(text string) func(bond) bool {
	all, not := func(bond) bool { return true }, false
	for _, c := range text {
		if c == '!' {
			not = true
			continue
		}
		before, want := all, !not
		all = func(b bond) bool {
			is := true
			switch c {
			case '-', '=', '#':
				is = !b.aromatic && b.order == 1+strings.IndexRune("-=#", c)
			case ':':
				is = b.aromatic
			case '@':
				is = b.ring
			}
			return before(b) && is == want
		}
		not = false
	}
	return all
}

// closing returns the position of the bracket that closes the one with which the text begins.
func closing(text string, open, close byte) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	panic("corpus: pattern " + text + " is not closed")
}

// atoms returns the test of an atom in brackets. A semicolon is an "and" that binds less than the
// comma, which is an "or".
func atoms(text string) func(*graph, int) bool {
	if parts := split(text, ';'); len(parts) > 1 {
		return func(g *graph, i int) bool {
			return !slices.ContainsFunc(parts, func(t func(*graph, int) bool) bool { return !t(g, i) })
		}
	}
	if parts := split(text, ','); len(parts) > 1 {
		return func(g *graph, i int) bool {
			return slices.ContainsFunc(parts, func(t func(*graph, int) bool) bool { return t(g, i) })
		}
	}
	var all []func(*graph, int) bool
	for text != "" {
		not := text[0] == '!'
		text = strings.TrimLeft(text, "!&")
		var one func(*graph, int) bool
		one, text = primitive(text)
		all = append(all, func(g *graph, i int) bool { return one(g, i) != not })
		text = strings.TrimPrefix(text, "&")
	}
	return func(g *graph, i int) bool {
		return !slices.ContainsFunc(all, func(t func(*graph, int) bool) bool { return !t(g, i) })
	}
}

// split returns the tests of the parts of a text between separators outside parentheses.
func split(text string, separator byte) []func(*graph, int) bool {
	var parts []string
	depth, from := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == separator && depth == 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	if parts == nil {
		return nil
	}
	var tests []func(*graph, int) bool
	for _, s := range append(parts, text[from:]) {
		tests = append(tests, atoms(s))
	}
	return tests
}

// primitive returns the first test of a text and what follows it.
func primitive(text string) (test func(*graph, int) bool, rest string) {
	number := func(missing int) int { // the number with which rest begins
		n := 0
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 {
			return missing
		}
		for _, c := range rest[:digits] {
			n = 10*n + int(c-'0')
		}
		rest = rest[digits:]
		return n
	}
	for _, symbol := range [...]string{"Cl", "Br"} {
		if strings.HasPrefix(text, symbol) {
			return func(g *graph, i int) bool { return element(g.m.label[i]) == symbol }, text[2:]
		}
	}
	c := text[0]
	rest = text[1:]
	switch c {
	case '*':
		return func(*graph, int) bool { return true }, rest
	case 'A':
		return func(g *graph, i int) bool { return !g.aromatic[i] }, rest
	case 'a':
		return func(g *graph, i int) bool { return g.aromatic[i] }, rest
	case '$':
		n := closing(rest, '(', ')')
		inner := smarts(rest[1:n])
		return inner.at, rest[n+1:]
	case '#':
		n := number(0)
		return func(g *graph, i int) bool { return atomicNumber[element(g.m.label[i])] == n }, rest
	case 'H':
		n := number(1)
		return func(g *graph, i int) bool { return g.hydrogens[i] == n }, rest
	case 'D':
		n := number(1)
		return func(g *graph, i int) bool { return len(g.m.next[i]) == n }, rest
	case 'X':
		n := number(1)
		return func(g *graph, i int) bool { return g.links[i] == n }, rest
	case 'v':
		n := number(1)
		return func(g *graph, i int) bool { return g.valence[i] == n }, rest
	case 'R', 'r':
		if n := number(-1); n >= 0 {
			return func(g *graph, i int) bool { return g.rings[i] == n }, rest
		}
		return func(g *graph, i int) bool { return g.rings[i] > 0 }, rest
	case '+', '-':
		n := number(1)
		if c == '-' {
			n = -n
		}
		return func(g *graph, i int) bool { return g.charge[i] == n }, rest
	}
	aromatic := c >= 'a' && c <= 'z'
	symbol := strings.ToUpper(text[:1])
	if _, ok := atomicNumber[symbol]; !ok {
		panic("corpus: pattern " + text + " has an unknown atom")
	}
	return func(g *graph, i int) bool { return g.aromatic[i] == aromatic && element(g.m.label[i]) == symbol }, rest
}

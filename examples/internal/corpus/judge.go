package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

// parse reads a SMILES string in Kekulé form as one molecule. It fails if an atom has more bonds
// than its valence allows. It checks what the program generates, and is independent of the
// enumerator and of the constraints.
//
// Atoms are those of the organic subset, and atoms in brackets with hydrogens and charge. Bonds
// are -, = and #; branches and ring digits are supported. Isotopes, stereochemistry, aromatic
// atoms, %nn and dots are not.
//
// Different spellings of a molecule give the same result. Hydrogens belong to their atom, and
// redundant brackets are removed. A nitrogen with five bonds, one of them to O= or three of them
// to N#, gets charges as in RDKit.
func parse(text string) (*molecule, error) {
	p := parser{text: text, at: -1, open: make(map[byte]opening)}
	err := p.run()
	if err == nil {
		err = p.settle()
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return p.whole(), nil
}

type parser struct {
	text  string
	pos   int
	raw   molecule // molecule as written
	atoms []atom
	at    int // atom to which the next one binds
	order int // order of the bond just read; 0 for none
	stack []int
	open  map[byte]opening
	fresh bool // whether a branch has just been opened
}

// atom is an atom as the text describes it, without its bonds.
type atom struct {
	symbol            string
	hydrogens, charge int
	bracket           bool // whether the text gives the hydrogens; otherwise they fill the valence
	pos               int
}

// opening is the first end of a ring bond whose second end has not been read.
type opening struct{ atom, order int }

// valences lists the valences of neutral atoms, in ascending order.
var valences = map[string][]int{
	"B": {3}, "C": {4}, "N": {3}, "O": {2}, "F": {1}, "P": {3, 5, 7}, "S": {2, 4, 6}, "Cl": {1}, "Br": {1}, "I": {1, 3, 5}, "H": {1},
}

func (p *parser) run() error {
	for p.pos < len(p.text) {
		if err := p.step(p.text[p.pos]); err != nil {
			return fmt.Errorf("character %d: %w", p.pos+1, err)
		}
		p.pos++
	}
	switch {
	case len(p.atoms) == 0:
		return fmt.Errorf("no atom")
	case len(p.stack) > 0:
		return fmt.Errorf("a branch is not closed")
	case len(p.open) > 0:
		return fmt.Errorf("a ring is not closed")
	case p.order != 0:
		return fmt.Errorf("a bond without a second atom")
	}
	return nil
}

func (p *parser) step(c byte) error {
	switch {
	case strings.IndexByte("-=#", c) >= 0:
		if p.at < 0 || p.order != 0 {
			return fmt.Errorf("a bond without a first atom")
		}
		p.order = 1 + strings.IndexByte("-=#", c)
	case c == '(':
		if p.at < 0 || p.order != 0 || p.fresh {
			return fmt.Errorf("a branch without an atom before it")
		}
		p.stack, p.fresh = append(p.stack, p.at), true
	case c == ')':
		if len(p.stack) == 0 || p.order != 0 || p.fresh {
			return fmt.Errorf("a branch that was not opened or is empty")
		}
		p.at, p.stack = p.stack[len(p.stack)-1], p.stack[:len(p.stack)-1]
	case c >= '0' && c <= '9':
		return p.ring(c)
	case c == '[':
		return p.bracket()
	default:
		symbol := p.text[p.pos : p.pos+1]
		if two := p.text[p.pos:min(p.pos+2, len(p.text))]; two == "Cl" || two == "Br" {
			symbol = two
			p.pos++
		}
		if _, ok := valences[symbol]; !ok || symbol == "H" {
			return fmt.Errorf("no atom %q", symbol)
		}
		p.atom(atom{symbol: symbol})
	}
	return nil
}

// atom adds an atom and binds it to the current one.
func (p *parser) atom(a atom) {
	a.pos = p.pos
	p.atoms = append(p.atoms, a)
	i := p.raw.add(a.symbol)
	from, order := p.at, max(1, p.order)
	p.at, p.order, p.fresh = i, 0, false
	if from >= 0 {
		p.raw.bind(from, i, order)
	}
}

// ring opens or closes the ring of a digit.
func (p *parser) ring(digit byte) error {
	if p.at < 0 || p.fresh {
		return fmt.Errorf("a ring without an atom")
	}
	order := p.order
	p.order = 0
	o, ok := p.open[digit]
	if !ok {
		p.open[digit] = opening{p.at, order}
		return nil
	}
	delete(p.open, digit)
	switch {
	case o.atom == p.at || p.raw.bonded(o.atom, p.at):
		return fmt.Errorf("a ring of fewer than three atoms")
	case o.order != 0 && order != 0 && o.order != order:
		return fmt.Errorf("the ends of a ring disagree on the bond")
	}
	p.raw.bind(o.atom, p.at, max(1, o.order, order))
	return nil
}

// bracket reads an atom in brackets, such as [NH3+].
func (p *parser) bracket() error {
	end := strings.IndexByte(p.text[p.pos:], ']')
	if end < 0 {
		return fmt.Errorf("a bracket is not closed")
	}
	inner := p.text[p.pos+1 : p.pos+end]
	p.pos += end
	symbol := strings.TrimRight(inner, "H0123456789+-")
	if symbol == "" && strings.HasPrefix(inner, "H") {
		symbol = "H"
	}
	if _, ok := valences[symbol]; !ok {
		return fmt.Errorf("no atom %q", inner)
	}
	rest := inner[len(symbol):]
	number := func() int { // a count, 1 if there is none
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			n := int(rest[0] - '0')
			rest = rest[1:]
			return n
		}
		return 1
	}
	a := atom{symbol: symbol, bracket: true}
	if strings.HasPrefix(rest, "H") {
		rest = rest[1:]
		a.hydrogens = number()
	}
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		a.charge = 1
		if rest[0] == '-' {
			a.charge = -1
		}
		rest = rest[1:]
		a.charge *= number()
	}
	if rest != "" || a.hydrogens > a.most() {
		return fmt.Errorf("no atom %q", inner)
	}
	p.atom(a)
	return nil
}

// most returns the maximum number of bonds of an atom, including those to hydrogens. A cation of
// N or O has one more than the neutral atom, an anion one less. Charged carbon and hydrogen have
// one less, and B⁻ has as many as carbon.
func (a atom) most() int {
	all := valences[a.symbol]
	most := all[len(all)-1]
	switch a.symbol {
	case "C", "H":
		return most - max(a.charge, -a.charge)
	case "B":
		return most - a.charge
	}
	return most + a.charge
}

// filled returns the number of hydrogens of a neutral atom outside brackets that has the given
// number of bonds to other atoms.
func filled(symbol string, bonds int) int {
	for _, v := range valences[symbol] {
		if v >= bonds {
			return v - bonds
		}
	}
	return 0
}

// settle assigns charges to nitrogens with five bonds, checks valences and counts hydrogens.
func (p *parser) settle() error {
	for i := range p.atoms {
		p.separate(i)
	}
	for i := range p.atoms {
		a, bonds := &p.atoms[i], p.raw.valence(i)
		if bonds+a.hydrogens > a.most() {
			return fmt.Errorf("character %d: an atom has more bonds than its valence", a.pos+1)
		}
		if !a.bracket {
			a.hydrogens = filled(a.symbol, bonds)
		}
	}
	return nil
}

// separate replaces N(=O)= with five bonds by [N+]([O-])=, and N#N with five bonds by [N+]=[N-].
func (p *parser) separate(i int) {
	const five = 5
	if a := p.atoms[i]; a.symbol != "N" || a.charge != 0 || p.raw.valence(i)+a.hydrogens != five {
		return
	}
	for _, l := range p.raw.next[i] {
		other := &p.atoms[l.to]
		if other.charge != 0 || !(other.symbol == "O" && l.order == 2 || other.symbol == "N" && l.order == 3) {
			continue
		}
		p.raw.setOrder(i, l.to, l.order-1)
		for _, end := range []struct{ atom, charge int }{{i, 1}, {l.to, -1}} {
			a := &p.atoms[end.atom]
			a.charge, a.bracket = end.charge, true
		}
		return
	}
}

// whole returns the molecule. Hydrogens written as atoms are merged into the atoms to which they
// are bound.
func (p *parser) whole() *molecule {
	m, number := new(molecule), make([]int, len(p.atoms))
	for i, a := range p.atoms {
		if next := p.raw.next[i]; a.symbol == "H" && a.charge == 0 && a.hydrogens == 0 && len(next) == 1 && p.atoms[next[0].to].symbol != "H" {
			p.atoms[next[0].to].hydrogens++
			number[i] = -1
		}
	}
	for i, a := range p.atoms {
		if number[i] < 0 {
			continue
		}
		bonds := 0
		for _, l := range p.raw.next[i] {
			if number[l.to] >= 0 {
				bonds += l.order
			}
		}
		number[i] = m.add(a.label(bonds))
	}
	for i, next := range p.raw.next {
		for _, l := range next {
			if i < l.to && number[i] >= 0 && number[l.to] >= 0 {
				m.bind(number[i], number[l.to], l.order)
			}
		}
	}
	return m
}

// label returns the SMILES of an atom with the given number of bonds, in brackets if necessary.
func (a atom) label(bonds int) string {
	if a.symbol != "H" && a.charge == 0 && a.hydrogens == filled(a.symbol, bonds) {
		return a.symbol
	}
	counted := func(sign string, n int) string {
		switch n {
		case 0:
			return ""
		case 1:
			return sign
		}
		return sign + strconv.Itoa(n)
	}
	return "[" + a.symbol + counted("H", a.hydrogens) + counted("+", max(0, a.charge)) + counted("-", max(0, -a.charge)) + "]"
}

// Balanced reports whether round and square brackets are closed in order and every ring digit
// occurs an even number of times.
func Balanced(text string) bool {
	depth, square, digits := 0, false, make(map[rune]int)
	for _, c := range text {
		switch {
		case square:
			if c == '[' {
				return false
			}
			square = c != ']'
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		case c == '[':
			square = true
		case c == ']':
			return false
		case c >= '0' && c <= '9':
			digits[c]++
		}
	}
	for _, n := range digits {
		if n%2 == 1 {
			return false
		}
	}
	return depth == 0 && !square && text != ""
}

// Polarity returns the share of N, O and F, in upper or lower case, among all letters except H. The
// run "score" of the example program sequences constrains this share.
func Polarity(text string) float64 {
	polar, letters := 0, 0
	for _, c := range strings.ToUpper(text) {
		if c >= 'A' && c <= 'Z' && c != 'H' {
			letters++
			polar += strings.Count("NOF", string(c))
		}
	}
	if letters == 0 {
		return 0
	}
	return float64(polar) / float64(letters)
}

package corpus

import (
	"fmt"
	"strings"
)

// parse reads a SMILES string in Kekulé form as one molecule, and fails unless
// every atom has free for its bonds: the judge of what the program generates. It
// knows nothing of the enumerator or of the constraints.
//
// Atoms are those of the organic subset and atoms in brackets with hydrogens and
// charge; bonds are -, =, #; there are branches and ring digits. A nitro group
// has charges, not a nitrogen of five bonds. Isotopes, stereochemistry, aromatic
// atoms, %nn and dots are not understood.
func parse(text string) (*molecule, error) {
	p := parser{text: text, m: new(molecule), at: -1, open: make(map[byte]opening)}
	if err := p.run(); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return p.m, nil
}

type parser struct {
	text  string
	pos   int
	m     *molecule
	free  []int // bonds that an atom still has free for
	at    int   // the atom to bind to
	order int   // of the bond just written, 0 for none
	stack []int
	open  map[byte]opening
	fresh bool // a branch has just been opened
}

// opening is a ring digit that waits for its other end.
type opening struct{ atom, order int }

// valences of neutral atoms, the largest where there are several.
var valences = map[string]int{"B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "P": 5, "S": 6, "Cl": 1, "Br": 1, "I": 1, "H": 1}

func (p *parser) run() error {
	for p.pos < len(p.text) {
		if err := p.step(p.text[p.pos]); err != nil {
			return fmt.Errorf("character %d: %w", p.pos+1, err)
		}
		p.pos++
	}
	switch {
	case len(p.m.label) == 0:
		return fmt.Errorf("no atom")
	case len(p.stack) > 0:
		return fmt.Errorf("a branch stays open")
	case len(p.open) > 0:
		return fmt.Errorf("a ring stays open")
	case p.order != 0:
		return fmt.Errorf("a bond leads nowhere")
	}
	return nil
}

func (p *parser) step(c byte) error {
	switch {
	case strings.IndexByte("-=#", c) >= 0:
		if p.at < 0 || p.order != 0 {
			return fmt.Errorf("a bond from nowhere")
		}
		p.order = 1 + strings.IndexByte("-=#", c)
	case c == '(':
		if p.at < 0 || p.order != 0 || p.fresh {
			return fmt.Errorf("a branch from nowhere")
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
		v, ok := valences[symbol]
		if !ok || symbol == "H" {
			return fmt.Errorf("no atom %q", symbol)
		}
		return p.atom(symbol, v)
	}
	return nil
}

// atom adds an atom that can make some bonds.
func (p *parser) atom(label string, free int) error {
	i := p.m.add(label)
	p.free = append(p.free, free)
	from, order := p.at, max(1, p.order)
	p.at, p.order, p.fresh = i, 0, false
	if from < 0 {
		return nil
	}
	return p.bind(from, i, order)
}

// bind makes a bond if both ends have a free valence.
func (p *parser) bind(a, b, order int) error {
	if p.free[a] < order || p.free[b] < order {
		return fmt.Errorf("an atom has more bonds than its valence")
	}
	p.free[a] -= order
	p.free[b] -= order
	p.m.bind(a, b, order)
	return nil
}

// ring opens or closes a ring.
func (p *parser) ring(digit byte) error {
	if p.at < 0 || p.fresh {
		return fmt.Errorf("a ring from nowhere")
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
	case o.atom == p.at || p.m.bonded(o.atom, p.at):
		return fmt.Errorf("a ring of fewer than three atoms")
	case o.order != 0 && order != 0 && o.order != order:
		return fmt.Errorf("the ends of a ring disagree on the bond")
	}
	return p.bind(o.atom, p.at, max(1, o.order, order))
}

// bracket reads an atom like [NH3+].
func (p *parser) bracket() error {
	end := strings.IndexByte(p.text[p.pos:], ']')
	if end < 0 {
		return fmt.Errorf("a bracket stays open")
	}
	inner := p.text[p.pos+1 : p.pos+end]
	p.pos += end
	rest := strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyzABCDEFGIJKLMNOPQRSTUVWXYZ")
	symbol := inner[:len(inner)-len(rest)]
	free, ok := valences[symbol]
	if !ok {
		return fmt.Errorf("no atom %q", inner)
	}
	number := func() int { // a count, 1 if there is none
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			n := int(rest[0] - '0')
			rest = rest[1:]
			return n
		}
		return 1
	}
	if strings.HasPrefix(rest, "H") {
		rest = rest[1:]
		free -= number()
	}
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		charge := 1
		if rest[0] == '-' {
			charge = -1
		}
		rest = rest[1:]
		free += charged(symbol, charge*number())
	}
	if rest != "" || free < 0 {
		return fmt.Errorf("no atom %q", inner)
	}
	return p.atom("["+inner+"]", free)
}

// charged returns by how much a charge changes the valence: a cation of N or O
// binds one more, an anion one less; carbon and boron lose one either way, but
// for B⁻, which is like carbon.
func charged(symbol string, charge int) int {
	switch symbol {
	case "C", "H":
		return -max(charge, -charge)
	case "B":
		return -charge
	}
	return charge
}

// Balanced reports whether round and square brackets are closed in order and
// every ring digit occurs an even number of times.
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

// Polarity is the share of N, O and F, in either case, among the letters without
// H: the property that the score run bounds.
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

package constraint

import (
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// Intersection is the language of the sequences that all parts accept. No table is built: a state
// is the tuple of the parts' states, encoded as one number in mixed radix.
type Intersection struct {
	parts  []Automaton
	radix  []int
	states int
	rest   Automaton // intersection of the parts without their masks
	mask   *Mask
}

// Product is implemented by intersections that can list their parts, such as [Intersection].
// [Intersect] replaces a Product by its parts.
type Product interface {
	Automaton

	// Parts returns the intersected languages. The slice must not be modified.
	Parts() []Automaton
}

// Intersect returns the language of the sequences that every part accepts; without parts, it is the
// language of all sequences. A [Product] is replaced by its own parts, and masks are kept separate
// from the other parts (see [Split]). If the product of the numbers of states exceeds 2⁶² (2³⁰
// where int has 32 bits), the error is a [*LimitError]. In that case, [Compile] a part first. Other
// errors come from a part's Validate method.
func Intersect(parts ...Automaton) (*Intersection, error) {
	if err := given("Intersect", parts); err != nil {
		return nil, err
	}
	for _, a := range parts {
		if err := automata.Validate(a); err != nil {
			return nil, err
		}
	}
	p, err := product(flatten(nil, parts...))
	if err != nil {
		return nil, err
	}
	var rest []Automaton
	for _, a := range p.parts {
		r, m := Split(a)
		p.mask = p.mask.and(m)
		if !isAny(r) {
			rest = flatten(rest, r)
		}
	}
	switch {
	case p.mask == nil:
		p.rest = p
	case len(rest) == 0:
		p.rest = Any{}
	case len(rest) == 1:
		p.rest = rest[0]
	default:
		if p.rest, err = product(rest); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// product returns the intersection of the parts without separating their masks.
func product(parts []Automaton) (*Intersection, error) {
	p := &Intersection{parts: parts, states: 1}
	for _, a := range parts {
		n := a.States()
		var ok bool
		if p.states, ok = times(p.states, n); !ok {
			return nil, tooMany("Intersect", p.states, n)
		}
		p.radix = append(p.radix, n)
	}
	p.rest = p
	return p, nil
}

// flatten appends parts to flat, replacing every [Product] by its parts.
func flatten(flat []Automaton, parts ...Automaton) []Automaton {
	for _, a := range parts {
		if p, ok := a.(Product); ok {
			flat = append(flat, p.Parts()...)
		} else {
			flat = append(flat, a)
		}
	}
	return flat
}

// Parts returns the automata that are intersected. The slice is shared with the intersection and
// must not be modified.
func (p *Intersection) Parts() []Automaton { return p.parts }

// Split returns the intersection of the parts without their masks, and the combined mask. The
// combined mask allows a level at a site only if the mask of every part does. The mask is nil if no
// part has a mask. Split implements [Masked].
func (p *Intersection) Split() (rest Automaton, mask *Mask) { return p.rest, p.mask }

// String returns the names of the parts, joined by " ∩ ".
func (p *Intersection) String() string {
	names := make([]string, len(p.parts))
	for i, a := range p.parts {
		names[i] = automata.Name(a)
	}
	return strings.Join(names, " ∩ ")
}

// States returns a bound on the state numbers: the product of the bounds of all parts.
func (p *Intersection) States() int { return p.states }

// Start returns the start state, which encodes the start states of all parts.
func (p *Intersection) Start() int {
	s, unit := 0, 1
	for i, a := range p.parts {
		s += a.Start() * unit
		unit *= p.radix[i]
	}
	return s
}

// Next returns the state after every part has read token, or −1 (dead) if one of the parts returns
// −1.
func (p *Intersection) Next(state int, token int32) int {
	s, unit := 0, 1
	for i, a := range p.parts {
		n := p.radix[i]
		to := a.Next(state%n, token)
		if to < 0 {
			return -1
		}
		s += to * unit
		unit *= n
		state /= n
	}
	return s
}

// Accepting reports whether a sequence may end in the given state, that is, in the state of every
// part.
func (p *Intersection) Accepting(state int) bool {
	for i, a := range p.parts {
		if !a.Accepting(state % p.radix[i]) {
			return false
		}
		state /= p.radix[i]
	}
	return true
}

// Classes divides the tokens into classes. Two tokens are in the same class if every part has them
// in the same class.
func (p *Intersection) Classes(levels int) (classes []int32, n int) {
	return automata.Refine(p.parts, levels)
}

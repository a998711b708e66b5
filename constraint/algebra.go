package constraint

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// given returns an error for the first part that is nil.
func given(function string, parts []Automaton) error {
	for i, p := range parts {
		if err := check.Given("constraint: "+function, fmt.Sprintf("parts[%d]", i), p); err != nil {
			return err
		}
	}
	return nil
}

// Union returns the language of the sequences that at least one part accepts, the empty
// language if there is no part. It is a lazy product. The error is a [*LimitError] if the
// numbers of states multiply beyond 2⁶² (2³⁰ where int has 32 bits).
func Union(parts ...Automaton) (Automaton, error) {
	if len(parts) == 0 {
		return Complement(Any{}), nil
	}
	if err := given("Union", parts); err != nil {
		return nil, err
	}
	if err := automata.Validate(parts[0]); err != nil {
		return nil, err
	}
	u := parts[0]
	for _, b := range parts[1:] {
		if err := automata.Validate(b); err != nil {
			return nil, err
		}
		base := b.States() + 1
		n, ok := times(u.States()+1, base)
		if !ok {
			return nil, tooMany("Union", n, base)
		}
		u = &union{u, b, base, n}
	}
	return u, nil
}

// complemented languages know what is not in them.
type complemented interface{ Complement() Automaton }

// Complement returns the language of the sequences that a does not accept. The complement
// of a [Lexicon] is novelty: everything that is not in it. It follows a lexicon that
// grows. If a has a method Complement() Automaton, as a complement has, Complement
// returns its result.
func Complement(a Automaton) Automaton {
	check.Must("constraint: Complement", "a", a)
	if c, ok := a.(complemented); ok {
		return c.Complement()
	}
	return complement{a}
}

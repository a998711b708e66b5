package constraint

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// given returns an error naming the first nil element of parts, or nil if there is none. The
// argument function is the name of the exported function that the error begins with.
func given(function string, parts []Automaton) error {
	for i, p := range parts {
		if err := check.Given("constraint: "+function, fmt.Sprintf("parts[%d]", i), p); err != nil {
			return err
		}
	}
	return nil
}

// Union returns the language of the sequences that at least one part accepts. Without parts, it is
// the empty language. No table is built: a state of the union combines one state of each part. The
// error is a [*LimitError] if there may be more than 2⁶² combinations (2³⁰ where int has 32 bits).
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

// complemented is implemented by languages with their own method for the complement.
type complemented interface{ Complement() Automaton }

// Complement returns the language of the sequences that the automaton a does not accept. The
// complement of a [Lexicon] contains every sequence that is not in the lexicon, and stays correct
// as the lexicon grows. If the automaton has a method Complement() Automaton, Complement calls it.
// The complement of a complement is the original automaton.
func Complement(a Automaton) Automaton {
	check.Must("constraint: Complement", "a", a)
	if c, ok := a.(complemented); ok {
		return c.Complement()
	}
	return complement{a}
}

// Any is the language of all sequences. A typical use is as the middle part of a [Concat],
// between a given prefix and a given suffix.
type Any struct{}

// States returns 1, because one state suffices.
func (Any) States() int { return 1 }

// Start returns 0, because there is only one state.
func (Any) Start() int { return 0 }

// Next returns the given state, because every token is allowed.
func (Any) Next(state int, _ int32) int { return state }

// Accepting returns true, because every sequence is in the language.
func (Any) Accepting(int) bool { return true }

// Classes puts all tokens into one class; it implements [Classed].
func (Any) Classes(levels int) ([]int32, int) {
	return automata.Refine[Automaton](nil, levels)
}

// isAny reports whether a is Any by value or by pointer. A type that embeds Any is a different
// language, because it overrides some of Any's methods. Treating it as Any would drop a
// constraint, so isAny compares concrete types.
func isAny(a Automaton) bool {
	switch a.(type) {
	case Any, *Any:
		return true
	}
	return false
}

// union is the lazy product automaton of a and b. A product state is dead only if its states in
// a and b are both dead. The state is encoded as (p+1)·(States(b)+1) + (q+1), where p is the
// state in a and q the state in b, each −1 if dead.
type union struct {
	a, b Automaton
	base int // b.States() + 1, the radix of the state encoding
	n    int
}

func (u *union) States() int { return u.n }

func (u *union) Start() int { return (u.a.Start()+1)*u.base + u.b.Start() + 1 }

func (u *union) Next(state int, token int32) int {
	p, q := state/u.base-1, state%u.base-1
	if p >= 0 {
		p = u.a.Next(p, token)
	}
	if q >= 0 {
		q = u.b.Next(q, token)
	}
	if p < 0 && q < 0 {
		return -1
	}
	return (p+1)*u.base + q + 1
}

func (u *union) Accepting(state int) bool {
	p, q := state/u.base-1, state%u.base-1
	return p >= 0 && u.a.Accepting(p) || q >= 0 && u.b.Accepting(q)
}

func (u *union) Classes(levels int) (of []int32, n int) {
	return automata.Refine([]Automaton{u.a, u.b}, levels)
}

// complement is the automaton that accepts a sequence if a rejects it. State 0 means that a is
// dead; state s+1 means that a is in state s.
type complement struct{ a Automaton }

func (c complement) Complement() Automaton { return c.a }

func (c complement) States() int { return c.a.States() + 1 }

func (c complement) Start() int { return c.a.Start() + 1 }

func (c complement) Next(state int, token int32) int {
	if state == 0 {
		return 0
	}
	return c.a.Next(state-1, token) + 1
}

func (c complement) Accepting(state int) bool { return state == 0 || !c.a.Accepting(state-1) }

func (c complement) Classes(levels int) (of []int32, n int) { return automata.Classes(c.a, levels) }

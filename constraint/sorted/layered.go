package sorted

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Layered is a set of sequences, stored in two parts. Base is large and does not change; Top is
// small and receives the added sequences. A Layered is also a language, which accepts exactly the
// sequences in the set. Both parts must be set, and Base must not be closed while the set is in
// use. Several goroutines may read a Layered, but not while one of them adds to it.
type Layered struct {
	Base *Lexicon
	Top  *constraint.Lexicon
}

// Check returns an error if Base or Top is nil, or if the file of Base has changed since it was
// opened.
func (l Layered) Check() error {
	switch {
	case l.Base == nil:
		return fmt.Errorf("sorted: Layered.Base = nil, want a Lexicon")
	case l.Top == nil:
		return fmt.Errorf("sorted: Layered.Top = nil, want a constraint.Lexicon")
	}
	return l.Err()
}

// Err returns an error if the file of Base has changed since it was opened: see [Lexicon.Err].
func (l Layered) Err() error { return l.base().Err() }

// Validate returns the error of [Layered.Check]. It implements [constraint.Validated].
func (l Layered) Validate() error { return l.Check() }

// Contains reports whether x is in the set, that is, in Base or in Top.
func (l Layered) Contains(x []int32) bool { return l.base().Contains(x) || l.top().Contains(x) }

// Add adds x to Top unless x is in Base. It reports whether x was new, that is, in neither part.
func (l Layered) Add(x []int32) bool { return !l.base().Contains(x) && l.top().Add(x) }

// Len returns Base.Len() + Top.Len(). If a sequence is in both parts, which Add prevents, it counts
// twice.
func (l Layered) Len() int { return l.base().Len() + l.top().Len() }

// States returns a bound on the state numbers, (Base.States() + 1)·(Top.States() + 1).
func (l Layered) States() int { return (l.base().States() + 1) * (l.top().States() + 1) }

// Start returns the state before the first token.
func (l Layered) Start() int { return l.join(l.base().Start(), l.top().Start()) }

// Next returns the state after the given token is read in the given state, or −1 (dead) if no
// sequence of Base or Top continues with this token.
func (l Layered) Next(state int, token int32) int {
	b, t := l.split(state)
	if b >= 0 {
		b = l.base().Next(b, token)
	}
	if t >= 0 {
		t = l.top().Next(t, token)
	}
	if b < 0 && t < 0 {
		return -1
	}
	return l.join(b, t)
}

// Accepting reports whether the sequences that end in the given state are in Base or Top.
func (l Layered) Accepting(state int) bool {
	b, t := l.split(state)
	return b >= 0 && l.base().Accepting(b) || t >= 0 && l.top().Accepting(t)
}

// AppendEdges lists the transitions that leave the given state, in ascending order of their tokens.
// For each transition it appends the token to tokens and the target state to states.
func (l Layered) AppendEdges(tokens []int32, states []int, state int) ([]int32, []int) {
	check.Len("sorted", "states", len(states), len(tokens))
	b, t := l.split(state)
	from := len(tokens)
	if b >= 0 {
		tokens, states = l.base().appendEdges(tokens, states, b)
	}
	for i := from; i < len(tokens); i++ {
		to := -1
		if t >= 0 {
			to = l.top().Next(t, tokens[i])
		}
		states[i] = l.join(states[i], to)
	}
	if t < 0 {
		return tokens, states
	}
	// What only the small part goes on with, in its place.
	more, to := l.top().AppendEdges(nil, nil, t)
	for i, token := range more {
		at := from
		for at < len(tokens) && tokens[at] < token {
			at++
		}
		if from = at; at < len(tokens) && tokens[at] == token {
			continue
		}
		tokens, states = append(tokens, 0), append(states, 0)
		copy(tokens[at+1:], tokens[at:])
		copy(states[at+1:], states[at:])
		tokens[at], states[at] = token, l.join(-1, to[i])
	}
	return tokens, states
}

// split returns the states of the two parts that state encodes, −1 for a part that is dead.
func (l Layered) split(state int) (base, top int) {
	n := l.top().States() + 1
	return state/n - 1, state%n - 1
}

// join returns the state that encodes the states of the two parts. It is the inverse of split.
func (l Layered) join(base, top int) int { return (base+1)*(l.top().States()+1) + top + 1 }

// base returns Base and panics if it is nil.
func (l Layered) base() *Lexicon {
	if l.Base == nil {
		panic("sorted: Layered: Base is nil")
	}
	return l.Base
}

// top returns Top and panics if it is nil.
func (l Layered) top() *constraint.Lexicon {
	if l.Top == nil {
		panic("sorted: Layered: Top is nil")
	}
	return l.Top
}

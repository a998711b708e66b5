package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Language is a set of token sequences. It is the constraint of a projection.Path and of the
// constrained samplers. A Language is either a finite [Automaton] or a nested language from package
// constraint/grammar, such as the texts with balanced brackets. A nested language has the methods
// of an Automaton too; its state numbers include the contents of the stack.
//
// Types that users write as literals, such as [Count], implement [Validated], because their values
// may be out of range.
type Language interface {
	Automaton
}

// Automaton is a deterministic automaton over token ids. The number of states is finite, except for
// nested languages (see [Pushdown]). An Automaton accepts the sequences x_0 … x_{n−1} for which
//
//	s_0 = Start(), s_{i+1} = Next(s_i, x_i) ≥ 0, Accepting(s_n).
//
// Implementations are immutable and safe for concurrent use. Next must not panic for a token that
// the language does not know; it may return −1 or a state. Package constrainttest checks this
// contract.
type Automaton interface {
	// States returns a bound on the state numbers: every state is in 0…States()−1. Do not size
	// allocations by it, because it may be far larger than the number of states that exist.
	States() int

	// Start returns the state before the first token.
	Start() int

	// Next returns the state after the given token is read in the given state, or −1 (dead) if no
	// sequence of the language continues with this token. The argument state must have been
	// returned by Start or Next.
	Next(state int, token int32) int

	// Accepting reports whether a sequence may end in the given state.
	Accepting(state int) bool
}

// Validated is implemented by types whose values may be invalid. Validate returns nil for a valid
// value, and otherwise an [*ArgumentError] or an error that wraps [ErrInfeasible]. Validate is
// called when a language or set is compiled, combined with others, or used with a model.
type Validated interface{ Validate() error }

var (
	_ Validated          = Count{}
	_ Validated          = Score{}
	_ automata.Validated = Validated(nil)
)

// Finite is implemented by languages that check whether they are finite automata. If no table can
// hold the language, the method Finite returns an error that explains why. [Compile], like all code
// that builds a table, calls this method first.
type Finite interface{ Finite() error }

var (
	_ Finite          = (*Sum)(nil)
	_ automata.Finite = Finite(nil)
)

// Classed is implemented by automata that can group tokens into classes. Tokens of one class are
// interchangeable: from any state, they lead to the same state. A vocabulary of 32,768 tokens
// often has only a few dozen classes. Every automaton of this package with fewer classes than
// tokens is Classed.
type Classed interface {
	Automaton

	// Classes divides the tokens 0…levels−1 into n classes, numbered 0…n−1. It returns a slice with
	// the class of every token. From any state, all tokens of one class lead to the same state. No
	// class is empty. The slice may be shared with the automaton and must not be modified.
	Classes(levels int) (classes []int32, n int)
}

// Tabled is implemented by automata that store their transitions in a dense table over token
// classes and start in state 0. [Compile] reads and minimises the table instead of exploring the
// automaton, so a custom compiler need not minimise.
type Tabled interface {
	Classed

	// Table returns the transition table. The entry next[s·classes + c] is the state after a token
	// of class c in state s, or −1 if there is none. A token has the same class c as in
	// Classes(Levels()), and the number of states is len(next)/classes. The slice is shared with
	// the automaton and must not be modified.
	Table() (next []int32, classes int)

	// Levels returns the number of different tokens in the table.
	Levels() int
}

// Accepts reports whether the automaton a accepts x. It takes O(len(x)) steps.
func Accepts(a Automaton, x []int32) bool {
	check.Must("constraint: Accepts", "a", a)
	s := a.Start()
	for _, t := range x {
		if s = a.Next(s, t); s < 0 {
			return false
		}
	}
	return a.Accepting(s)
}

// Pushdown is a deterministic pushdown automaton (a finite automaton with a stack) over tokens. It
// recognises a nested language, such as the texts with balanced brackets. Only package
// constraint/grammar creates values of this type. Package projection computes sums over the
// sequences that a Pushdown accepts.
type Pushdown interface {
	// Tokens returns the number of different tokens, which are 0 … Tokens()−1.
	Tokens() int

	// Accepts reports whether the tokens spell a text of the language, possibly followed by
	// padding.
	Accepts(x []int32) bool
}

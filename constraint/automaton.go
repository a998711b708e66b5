package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Language is a set of token sequences, as projection.Path and the constrained kernels
// take it. It is a finite [Automaton], or a language that nests (package
// constraint/grammar), whose Automaton methods number the configurations of its stack.
//
// A literal that may be out of range, such as a [Count], is [Validated]: compiling or
// combining it calls Validate first.
type Language interface {
	Automaton
}

// Automaton is a deterministic automaton over token ids, finite unless its
// language nests. It stands for the set of sequences x_0 … x_{n−1} for which
//
//	s_0 = Start(), s_{i+1} = Next(s_i, x_i) ≥ 0, Accepting(s_n).
//
// Implementations are immutable and safe for concurrent use. A token that the language
// does not know is dead or leads to a state; Next does not panic on it. Package
// constrainttest checks this contract.
type Automaton interface {
	// States returns a bound on the state numbers: every state is in 0…States()−1. The
	// bound may be far larger than the number of states that exist, so do not size
	// allocations by it.
	States() int

	// Start returns the state before the first token.
	Start() int

	// Next returns the state after token, −1 (dead) if no sequence of the language
	// continues with it. state is one that Start or Next returned.
	Next(state int, token int32) int

	// Accepting reports whether the sequence may end in state.
	Accepting(state int) bool
}

// Validated values may be invalid: Validate returns an [*ArgumentError] or an error that
// wraps [ErrInfeasible] for an invalid value, nil for a valid one. It is called where
// languages and sets are compiled, combined or bound.
type Validated interface{ Validate() error }

var (
	_ Validated          = Count{}
	_ Validated          = Score{}
	_ automata.Validated = Validated(nil)
)

// Finite languages may have infinitely many states: Finite then returns an error that
// states why no table can hold them, and nil otherwise. [Compile] and everything else
// that writes a table calls it.
type Finite interface{ Finite() error }

var (
	_ Finite          = (*Sum)(nil)
	_ automata.Finite = Finite(nil)
)

// Classed automata know which tokens they do not distinguish: a vocabulary of 32768
// tokens often has a few dozen classes. Every automaton of this package with fewer
// classes than tokens is Classed.
type Classed interface {
	Automaton

	// Classes returns the class of[t] ∈ 0…n−1 of every token t < levels:
	// tokens of one class lead from every state to the same state. Every
	// class has a token. The slice may be the automaton's own and must not be
	// modified.
	Classes(levels int) (of []int32, n int)
}

// Tabled automata have a dense table over their classes, with 0 as the start state.
// [Compile] reads it instead of exploring the automaton: a compiler of your own can
// return a table and leave minimisation to Compile.
type Tabled interface {
	Classed

	// Table returns next[s·classes + c], the state after a token of class c
	// in state s, −1 if dead; c counts as in Classes(Levels()), and the number
	// of states is len(next)/classes. The slice is the automaton's own and
	// must not be modified.
	Table() (next []int32, classes int)

	// Levels returns the number of tokens that the table knows.
	Levels() int
}

// Accepts reports whether x is in the language of a, in O(len(x)) steps.
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

// Pushdown is a deterministic pushdown automaton over tokens, which decides languages
// that nest. Only package constraint/grammar makes them; package projection sums over
// them.
type Pushdown interface {
	// Tokens returns the number of tokens.
	Tokens() int

	// Accepts reports whether the tokens spell a text of the language, with padding
	// after it.
	Accepts(x []int32) bool
}

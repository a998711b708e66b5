package constraint

import "github.com/gibbsite-go/gibbsite/internal/automata"

// Any is the language of all sequences, for instance as the middle part of a [Concat] of
// a beginning, Any{} and an ending.
type Any struct{}

// States returns 1.
func (Any) States() int { return 1 }

// Start returns 0.
func (Any) Start() int { return 0 }

// Next returns state.
func (Any) Next(state int, _ int32) int { return state }

// Accepting returns true.
func (Any) Accepting(int) bool { return true }

// Classes puts all tokens into one class.
func (Any) Classes(levels int) ([]int32, int) {
	return automata.Refine[Automaton](nil, levels)
}

// isAny reports whether a is Any by value or by pointer. A type that embeds Any
// does so to change a part of it, and is a language of its own: no interface
// could tell, and to drop it would be to drop a constraint.
func isAny(a Automaton) bool {
	switch a.(type) {
	case Any, *Any:
		return true
	}
	return false
}

package projection

import "github.com/gibbsite-go/gibbsite/constraint"

// Nested languages nest without a bound: brackets, JSON, whatever a pushdown automaton
// decides. As a [constraint.Automaton] such a language has a state for every
// configuration of its stack, numbered when first met, so that every consumer can check
// and extend sequences. [Path], which sums over all sequences, uses the pushdown
// automaton itself: its cost grows with the cube of the length and not with the number of
// configurations.
//
// The languages of package constraint/grammar are Nested, and so is a type that
// embeds one.
type Nested interface {
	constraint.Automaton

	// Pushdown returns the automaton as package constraint/grammar compiles it; [Path]
	// refuses any other.
	Pushdown() constraint.Pushdown
}

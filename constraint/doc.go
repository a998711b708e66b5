// Package constraint says which sequences are allowed. It owns sets, automata
// and linear rows, compiles them and combines them; probabilities are none of
// its business.
//
// # Two kinds of constraint
//
// Most callers want a language: a set of token sequences that a deterministic
// finite [Automaton] decides. Package projection and the constrained kernels of
// package sampler run a dynamic program over (site, automaton state), so that
// whatever is a language here can be projected onto, maximised over, sampled
// from and counted there, exactly. Languages come from
//
//   - [Regexp], a regular expression over a vocabulary of multi-byte tokens;
//   - [Count], [Sum] and [Residue], arithmetic over the sequence;
//   - [Mask], the levels allowed at each site;
//   - [Contains], [ContainsAny], [Avoids] and [NewWordAt], words of tokens, and their
//     counterparts over text, [ContainsText], [AvoidsText] and [TextWordAt];
//   - [Lexicon], a large set of sequences, growing while it is used;
//   - [NewDFA], a table of one's own, or any type with the methods of Automaton;
//
// and from [Intersect], [Union], [Complement] and [Concat] of these. [Compile]
// turns any of them into a [DFA], the smallest table for its language.
//
// The other kind is an inequality g_j(x) ≤ 0: a [Set] measures it on tokens, a
// [Smooth] one on probability rows or reals, with derivatives. [Linear] and
// [Score] are both; [Slabs] and [Series], which [SeriesBuilder] compiles from
// limits in raw units, are for real-valued series; Count and Sum are languages and Sets.
//
// # Masks travel beside the automaton
//
// A [Mask] is an automaton like any other: its state is the site. A consumer
// that has a weight for every (site, level) does better with weights of −Inf,
// because a mask tells apart tokens that the rest of the language cannot, and
// the cost of a trellis grows with the number of token classes. [Split] takes a
// language apart into the automaton proper and its mask; [Intersect] carries
// masks through. A consumer that never calls Split is slower but not wrong.
//
// # Token classes
//
// Tokens that lead to the same state from every state form a class. [Classes]
// finds them for every automaton of this package ([Classed]); a vocabulary of
// 32768 tokens often has a few dozen.
//
// # Limits and errors
//
// Determinisation can explode: (a|b)*a(a|b){40} needs 2⁴¹ states. Everything
// that determinises takes a context and [Limits], whose zero value is the
// recommended setting, and ends with a [*LimitError] rather than without
// memory. A language without any sequence is [ErrInfeasible], a pattern that
// does not parse a [*PatternError], any other impossible argument an
// [*ArgumentError].
//
// # Caveats
//
// All values are immutable and safe for concurrent use, except a [Lexicon],
// which may be read by many goroutines but not while one adds to it. Tokens are
// int32 levels 0, 1, 2, …; the number of levels belongs to the model, and an
// automaton that needs it (a DFA, a Mask) treats a token outside as dead.
package constraint

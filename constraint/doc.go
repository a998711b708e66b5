// Package constraint describes which sequences of tokens or numbers are allowed. A constraint is
// either a language, which is a set of token sequences, or a system of inequalities. The package
// combines and compiles constraints; it does not deal with probabilities.
//
// Most callers want a [Language], usually a deterministic finite [Automaton]. Projections and
// constrained samplers run a dynamic program over pairs of a site (a position in the sequence) and
// an automaton state. For every language of this package, they can therefore draw a sequence, find
// the most probable sequence, count all sequences, and restrict a distribution to the language. All
// of this is exact. Package constraint/text compiles languages of texts, package constraint/grammar
// compiles nested languages of unbounded depth, and package constraint/sorted keeps sets of
// sequences in a file. [Compile] turns any language with finitely many states into its smallest
// transition table.
//
// The other kind of constraint is a system of inequalities g_j ≤ 0. A [Set] evaluates the
// inequalities on tokens. A [Smooth] system evaluates them on tables of probabilities or on reals,
// and has derivatives. Some types implement both Set and Smooth. Package constraint/series
// constrains real-valued series in raw units.
//
// Languages may implement small optional interfaces: [Classed], [Tabled], [Masked], [Product],
// [Counting]. Consumers check for these interfaces and never for concrete types, so a language may
// be passed by value, by pointer or embedded in a struct. A consumer that ignores the optional
// interfaces is slower but still correct.
//
// Determinisation can explode: (a|b)*a(a|b){40} needs 2⁴¹ states. Every function that determinises
// takes a context and [Limits], whose zero value is the recommended setting. It returns a
// [*LimitError] before memory runs out. Functions report an empty language as [ErrInfeasible], and
// any other invalid argument as an [*ArgumentError].
//
// # Caveats
//
// All values are immutable and safe for concurrent use, with one exception. A [Lexicon] may be read
// by many goroutines, but not while one of them adds to it. Tokens, also called levels, are the
// int32 numbers 0, 1, 2, …. The model determines how many levels there are. An automaton that
// stores their number (a [DFA], a [Mask]) rejects tokens outside the range.
package constraint

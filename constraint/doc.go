// Package constraint describes which sequences are allowed: by languages, sets of
// inequalities and linear rows, with their algebra and their compilation. It knows
// nothing about probabilities.
//
// Most callers want a [Language]: a set of token sequences that a deterministic
// finite [Automaton] decides. Projections and constrained kernels run a dynamic
// program over (site, automaton state), so that every language here can be
// projected onto, maximised over, sampled from and counted, exactly.
// Package constraint/text compiles languages over the text of tokens, and package
// constraint/grammar those that nest without a bound; package constraint/sorted
// keeps sets of sequences in a file. [Compile] turns any language of finitely many
// states into the smallest table for it.
//
// The other kind of constraint is an inequality g_j ≤ 0: a [Set] measures it on
// tokens, a [Smooth] one on probability rows or reals, with derivatives. Some
// types are both. Package constraint/series has limits on series in raw units.
//
// Languages may implement small optional interfaces: [Classed], [Tabled], [Masked],
// [Product], [Counting]. Consumers look for these and never for concrete types, so that a
// value, a pointer and a type that embeds it are equivalent. A consumer that uses none of
// them is slower but not wrong.
//
// Determinisation can explode: (a|b)*a(a|b){40} needs 2⁴¹ states. Everything that
// determinises takes a context and [Limits], whose zero value is the recommended setting,
// and returns a [*LimitError] before memory runs out. A language without any sequence is
// [ErrInfeasible], any other impossible argument an [*ArgumentError].
//
// # Caveats
//
// All values are immutable and safe for concurrent use, except a [Lexicon],
// which may be read by many goroutines but not while one adds to it. Tokens are
// int32 levels 0, 1, 2, …; the number of levels belongs to the model, and an
// automaton that needs it (a [DFA], a [Mask]) treats a token outside as dead.
package constraint

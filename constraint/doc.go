// Package constraint describes which sequences of tokens or numbers are allowed. A constraint
// is a language, a set of inequalities or a system of linear rows. The package combines and
// compiles constraints; it does not deal with probabilities.
//
// Most callers want a [Language]: a set of token sequences that a deterministic finite
// [Automaton] decides. Projections and constrained kernels run a dynamic program over (site,
// automaton state), so every language here can be projected onto, maximised over, sampled from
// and counted, all exactly. Package constraint/text compiles languages of texts, package
// constraint/grammar compiles nested languages of unbounded depth, and package
// constraint/sorted keeps sets of sequences in a file. [Compile] turns any language with
// finitely many states into its smallest table.
//
// The other kind of constraint is a system of inequalities g_j ≤ 0. A [Set] evaluates the
// inequalities on tokens. A [Smooth] system evaluates them on probability rows or reals and has
// derivatives. Some types implement both interfaces. Package constraint/series constrains
// real-valued series in raw units.
//
// Languages may implement small optional interfaces: [Classed], [Tabled], [Masked], [Product],
// [Counting]. Consumers check for these interfaces and never for concrete types, so a value, a
// pointer and a type that embeds the language are equivalent. A consumer that uses none of the
// interfaces is slower but not wrong.
//
// Determinisation can explode: (a|b)*a(a|b){40} needs 2⁴¹ states. Every function that
// determinises takes a context and [Limits], whose zero value is the recommended setting. It
// returns a [*LimitError] before memory runs out. An empty language is reported as
// [ErrInfeasible], any other invalid argument as an [*ArgumentError].
//
// # Caveats
//
// All values are immutable and safe for concurrent use, with one exception. A [Lexicon] may be
// read by many goroutines, but not while one of them adds to it. Tokens are int32 levels 0, 1,
// 2, …. The number of levels belongs to the model; an automaton that needs that number (a
// [DFA], a [Mask]) treats tokens outside the range as dead.
package constraint

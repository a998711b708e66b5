// Package pushdown is the dynamic program over nested spans behind every exact
// operation on sequences that a deterministic pushdown automaton accepts,
// without a bound on the depth of the stack.
//
// # The language
//
// A [Machine] reads bytes without ε-moves. State q on byte b is dead, stays inside its
// level, calls (pushes γ and enters another level at a start state) or returns ρ to the
// caller; the run then continues at Resume[γ][ρ]. There is one run for each string, so
// that sums over runs are sums over strings.
//
// [Lift] carries a machine over to the tokens of a vocabulary. Calls and
// returns that match inside a token cancel; what is left of a token read from a
// state is one move, or several, of which the first is its outcome. Where more
// follow, the caller goes on at a half-position: a place between the moves of
// one token, whose weight was charged at the first of them. Tokens with equal
// outcomes from all states form a class.
//
// # The sum
//
// A level that is entered by start s at site c and is left by exit κ at site e
// has the weight R[c][s][κ][e], summed over everything between. One chart for
// each (c, s), from the last site to the first, computes it from those inside:
//
//	F[j+1][r] += F[j][q]·W_j[q→r]
//	K[j][k]   += F[j][q]·W_j[q→k]                      a call
//	X[κ][e]   += Σ_k K[j][k]·R[j][start of k][κ][e]    e > j: its returns
//
// X[κ][e] goes on at the boundary e+1, or at a half-position of site e. Draws
// and the best sequence walk back through charts that are computed again from
// R; marginals are the adjoint of the recursion. The cost is
// L²/2·Σ starts·edges + L³/6·Σ starts·calls·exits.
//
// # Numerics
//
// Sums run in float64 on vectors ([spans]), with a common scale for rows of a level that
// are called near each other. If the rounding of that could matter, they run on numbers
// with their own exponent ([algebra.Number]), which neither overflow nor underflow: a sum
// is zero only if the language is empty under the weights. Marginals work alike: the
// adjoint of spans on vectors ([outside]), with the level of the whole sequence in
// numbers, and everything in numbers if a probability inside a nested level is too small.
// The best sequence and counts always use the charts. NaN and +Inf among the tokens that
// the machine can use are errors, −Inf is probability zero.
//
// A [Graph] may be shared between goroutines, a [Runner] may not.
package pushdown

// Package pushdown implements the dynamic program over nested spans behind every exact
// operation on the sequences that a deterministic pushdown automaton accepts, without a
// bound on the depth of the stack.
//
// # The language
//
// A [Machine] reads bytes without ε-moves. State q on byte b is dead, stays inside its
// level, calls (pushes γ and enters another level at a start state) or returns ρ to the
// caller; the run then continues at Resume[γ][ρ]. Each string has exactly one run, so sums
// over runs are sums over strings.
//
// [Lift] converts a machine to the tokens of a vocabulary. Calls and returns that match
// inside a token cancel. What remains of a token read in a state is one or several moves,
// of which the first is its outcome. If more follow, the caller continues at a
// half-position, a place between the moves of one token, whose weight was charged at the
// first move. Tokens with equal outcomes from all states form a class.
//
// # The sum
//
// A level that is entered by start s at site c and left by exit κ at site e has the weight
// R[c][s][κ][e], summed over everything in between. One chart for each (c, s), from the
// last site to the first, computes it from the charts of the levels inside:
//
//	F[j+1][r] += F[j][q]·W_j[q→r]
//	K[j][k]   += F[j][q]·W_j[q→k]                      a call
//	X[κ][e]   += Σ_k K[j][k]·R[j][start of k][κ][e]    e > j: its returns
//
// X[κ][e] continues at the boundary e+1, or at a half-position of site e. Draws and the
// best sequence walk back through charts that are recomputed from R; marginals are the
// adjoint of the recursion. The cost is L²/2·Σ starts·edges + L³/6·Σ starts·calls·exits.
//
// # Numerics
//
// Sums are computed in float64 on vectors ([spans]), with a common scale for rows of a
// level that are called near each other. If rounding could matter there, they are computed
// on numbers with their own exponent ([algebra.Number]), which neither overflow nor
// underflow: a sum is zero only if the language is empty under the weights. Marginals work
// in the same way: by the adjoint of spans on vectors ([outside]), with the level of the
// whole sequence in numbers, and with everything in numbers if a probability inside a
// nested level is too small. The best sequence and counts always use the charts. A weight
// of NaN or +Inf for a token that the machine can use is an error; −Inf is probability
// zero.
//
// A [Graph] is safe for concurrent use; a [Runner] is not.
package pushdown

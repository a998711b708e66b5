// Package pushdown computes exact sums, draws, marginals and best sequences over the sequences that
// a deterministic pushdown automaton accepts. The dynamic program over nested spans (parts of a
// sequence) allows any stack depth. A [Graph] is safe for concurrent use; a [Runner] is not.
//
// # The language
//
// A [Machine] reads one byte at every move. States are divided into levels, one for each rule, or
// group of rules, of a grammar. When a state reads a byte, there is either no move, or a move of
// one of three kinds: inside the level, a call, or a return. A call pushes a symbol γ and enters
// another level at a start state. A return passes a symbol ρ to the caller, which continues at
// Resume[γ][ρ]. Each string has exactly one run (sequence of moves), so sums over runs are sums
// over strings.
//
// [Lift] converts a machine to the tokens of a vocabulary. A token is a string of bytes, so reading
// it takes several moves. A call and the matching return inside one token cancel. At least one move
// is left. The first of the remaining moves is called the token's outcome in the state. If there
// are several, the caller continues at a half-position, which lies between the moves of one token.
// The weight of the token is charged at its first move. Tokens with equal outcomes from all states
// form a class.
//
// # The sum
//
// Let R[c][s][κ][e] be the total weight of all runs through a level. These runs enter it in its
// start state s at site c and leave it through the exit κ, a return symbol, at site e. For each
// pair (c, s), from the last site to the first, a chart computes R from the sums of nested levels.
// F holds the sums of states, K the sums of calls, X the sums of returns, and W the edge weights.
// With sites j, states q and r, and calls k, the chart computes
//
//	F[j+1][r] += F[j][q]·W_j[q→r]
//	K[j][k]   += F[j][q]·W_j[q→k]                      a call
//	X[κ][e]   += Σ_k K[j][k]·R[j][start of k][κ][e]    e > j: its returns
//
// X[κ][e] continues at the boundary e+1, or at a half-position of site e. Draws and the best
// sequence walk back through charts that are recomputed from R. Marginals are computed by the
// adjoint of the recursion. For L sites, the cost is L²/2·Σ starts·edges + L³/6·Σ
// starts·calls·exits.
//
// # Numerics
//
// Sums are computed in float64 by vector kernels (type spans), with a common scale factor for the
// calls of a level at neighbouring sites. If underflow could change the result, they are computed
// again with [algebra.Number], which neither overflows nor underflows. A sum is then zero only if
// the language is empty under the weights. Marginals are computed by the adjoint of spans (type
// outside). It uses Numbers for the outermost level, and for all levels if a probability inside a
// nested level is too small for a float64. The best sequence and counts always use the charts. A
// weight of NaN or +Inf for a token that the machine can use is an error; −Inf is probability zero.
package pushdown

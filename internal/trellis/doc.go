// Package trellis computes with the sequences that a finite automaton accepts: exact sums, random
// draws, marginals and best sequences. It uses a dynamic program over pairs of a site and an
// automaton state.
//
// # The sum
//
// An automaton A reads a sequence x of a fixed number of sites; the token x_i at site i is in
// 0…levels−1. With a log-weight v[i,t] for every token t at every site i, the sequence has the
// weight
//
//	w(x) = ∏_i exp(v[i,x_i]).
//
// Only the sequences that A accepts count. [Compile] turns A into an immutable [Graph] for given
// numbers of sites and levels. A [Runner] is the workspace of one goroutine. It computes over the
// Graph in three semirings:
//
//   - (log,+): the normaliser Σ_x w(x), exact joint draws, marginals;
//   - (min,+): the cheapest sequence, and all sequences in order of cost;
//   - counting: how many sequences there are.
//
// The package makes no assumption about the origin of the weights.
//
// # Cost
//
// Tokens that have the same transitions in all states form one class. A site costs one pass over
// its levels and one pass over its edges (states × classes). Only states that are reachable from
// the start and lead to acceptance are stored. If the weights of a site allow few tokens, fewer
// states are visited. Sites with the same states share one table.
//
// # Numerics
//
// Sums are computed in float64. At every site, weights are divided by the greatest weight among the
// tokens that the automaton can use there, and sums are scaled by a power of two. Terms that
// underflow to zero are lost. The package computes an upper bound on the sum of the lost terms. If
// this bound is not far below the result, the package repeats the sum with logarithms, so that
// log-weights of −1e4 are not mistaken for zero. Sums over large classes are taken in float32
// (relative error about 1e-7 per site). A log-weight of −Inf means probability zero. NaN and +Inf
// are errors at tokens that the automaton can use.
//
// # Caveats
//
// A Graph may be shared between goroutines, but a Runner may not. A Runner keeps a reference to the
// weights of the last [Runner.Filter]: the weights must not change before the last draw.
package trellis

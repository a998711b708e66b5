// Package trellis computes exact sums, draws, marginals and best sequences over the sequences
// that a finite automaton accepts. It uses a dynamic program over pairs of a site and an
// automaton state.
//
// # The sum
//
// An automaton A reads sequences x of a fixed number of sites, each a token in 0…levels−1. For
// log-weights v of sites and tokens, the package handles the measure
//
//	w(x) = ∏_i exp(v[i,x_i]),  q_0 = start, q_{i+1} = A(q_i, x_i),
//
// restricted to the sequences that A accepts. [Compile] turns (A, sites, levels) into an
// immutable [Graph]; a [Runner], the scratch of one worker, computes over the Graph in these
// semirings:
//
//   - (log,+): the normaliser Σ_x w(x), exact joint draws, marginals;
//   - (min,+): the cheapest sequence, and all sequences in order of cost;
//   - counting: how many sequences there are.
//
// The package makes no assumption about the origin of the weights.
//
// # Cost
//
// Tokens that no state distinguishes form one class. A site costs one pass over its levels and
// one over its edges (states × classes). Only states that are reachable from the start and lead
// to acceptance are stored, and sites whose weights allow few tokens narrow the states further.
// Sites with the same states share one table.
//
// # Numerics
//
// Sums run in float64 on weights shifted by the greatest weight among the tokens that the
// automaton can use at the site, each layer scaled by a power of two. The package bounds the
// loss by underflow. If the bound is not far below the result, it repeats the sum with
// logarithms, so that log-weights of −1e4 are not mistaken for zero. Sums over large classes
// are taken in float32 (relative error about 1e-7 per site). A log-weight of −Inf is legal and
// means probability zero. NaN and +Inf among the tokens the automaton can use are errors.
//
// # Caveats
//
// A Graph may be shared between goroutines, but a Runner may not. A Runner keeps a reference to
// the weights of the last [Runner.Filter]: the weights must not change before the last draw.
package trellis

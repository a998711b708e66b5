// Package lagrange projects onto bounds on differentiable scores, such as the output of a
// classifier, that no language (set of sequences accepted by an automaton) describes. It searches
// for a sequence that satisfies the bounds by an augmented Lagrangian, guided by derivatives. It
// then computes the nearest distribution whose likeliest sequence is the one found.
//
// A [Projector] describes such a projection; it is written as a struct literal. Where a constraint
// is a language, package projection is exact and faster. For a masked diffusion, which never
// changes a token once it is set, sampler/diffusion/scored finds sequences that this package does
// not find.
package lagrange

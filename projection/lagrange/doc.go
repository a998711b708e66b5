// Package lagrange projects onto bounds on differentiable scores that no language describes, such
// as the output of a classifier. It searches for a sequence that satisfies the bounds by an
// augmented Lagrangian, guided by derivatives. It then computes the nearest distribution that has
// this sequence as its likeliest sequence.
//
// A [Projector] describes such a projection; it is written as a struct literal. If a constraint is
// a language (a set of sequences that an automaton accepts), package projection is exact and
// faster. In a masked diffusion, which never changes a token once it is set,
// sampler/diffusion/scored finds more sequences.
package lagrange

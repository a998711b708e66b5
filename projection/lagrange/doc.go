// Package lagrange projects onto bounds on scores, which no automaton describes: an augmented
// Lagrangian, guided by derivatives, searches for a sequence that satisfies them, and the nearest
// rows follow from that sequence.
//
// A [Projector] is the recipe. Where a constraint is a language, package projection is
// exact and faster. For a masked diffusion, which never reconsiders a token,
// sampler/diffusion/scored finds sequences that this package does not.
package lagrange

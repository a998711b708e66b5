// Package projection moves distributions over sequences to a feasible set.
//
// The distributions are factorised: sites × levels log-weights, one row per
// site, as a denoiser or a proposal fills them. Wherever the constraint is a
// language, everything here is exact.
//
// # What to use
//
// [Path] projects onto any language of package constraint: the nearest
// distribution whose likeliest sequence is in the language, in either
// Kullback-Leibler divergence. Compiled ([Exact]) it also conditions: joint
// draws, log-probability of the language, marginals, the likeliest sequences
// in order, counts. A diffusion should condition rather than project; package
// sampler does so by itself when it is given a Path.
//
// [Novel] keeps sequences out of a set that grows by what was produced before.
//
// [KL] is for scores that are no language: an augmented Lagrangian, led by
// derivatives, looks for the sequence, and the nearest rows follow from it.
//
// [Proximal] moves real-valued predictions: the nearest series within linear
// rows and smooth inequalities, in float64 and with a certificate.
//
// # Recipes
//
// A recipe is an immutable struct with useful zero values. Its Bind method
// compiles it for a shape and returns a [Projection]; package sampler declares
// the same interface and finds the optional ones (a joint draw, a commit after
// the last step) by their methods. Neither package imports the other.
//
// # Errors
//
// Whatever cannot be satisfied is an *[InfeasibleError] that names the
// constraint and the site where the language dies, and wraps
// constraint.ErrInfeasible. There are no fallbacks.
package projection

// Package projection makes a model's predictions satisfy constraints. It projects distributions
// over sequences onto a feasible set, or conditions them on it.
//
// The distributions are factorised: the token of each site (position) is chosen independently. A
// distribution is given by a table of log-weights, such as a denoiser computes. The table has a row
// per site and a column per level (possible token). If the constraint is a language, all results
// are exact.
//
// # What to use
//
// [Path] works with any language of package constraint. Compiling it gives a [PathProjection],
// which can project onto the language or condition on it. To project is to find the distribution
// that is nearest to the given distribution and whose likeliest sequence is in the language. The
// distance is a Kullback–Leibler divergence, in either direction. To condition is to compute joint
// draws, the log-probability of the language, marginals, the likeliest sequences in order, and
// counts. A diffusion should condition rather than project, and package sampler/diffusion does so
// automatically for a Path.
//
// Other problems have packages of their own. Package prior conditions a hidden Markov model or a
// Markov chain on a language. Package novelty generates only sequences that are not in a given set,
// and adds each of them to the set. Package lagrange projects onto bounds on differentiable scores.
// Package proximal replaces a real-valued prediction by the nearest series that satisfies linear
// and smooth inequalities. Package newton moves such a prediction to a nearby solution of
// equations. Package junction does exact computations with models of low tree-width.
//
// # Recipes and runners
//
// A recipe, such as a [Path], is an immutable struct with useful zero values. Its method Bind
// compiles it for given numbers of sites and levels, and returns a [Projection]. Bind turns a Path
// into a [PathProjection], and a Projector of novelty, lagrange or proximal into the Projection of
// the same package. Code that calls Bind, such as package sampler/diffusion, is called a runner. A
// runner declares the same interface Projection, and finds optional abilities, such as a joint
// draw, by type assertions.
//
// # Errors
//
// If a constraint cannot be satisfied, the error is an *[InfeasibleError]. This error names the
// constraint and the first site without an allowed token, and wraps constraint.ErrInfeasible. If an
// iteration ends early, the error is a *[NotConverged]. There are no fallbacks.
package projection

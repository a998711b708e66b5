// Package mcmc owns the Markov chain methods for tokens: every method here but
// [DULA] leaves the distribution p(x) ∝ exp(−E(x)) invariant, and DULA states its
// error. They are recipes for [sampler.NewChains].
//
// Start with [DMALA], which changes many sites a step and tunes itself. [Gibbs]
// suits models with cheap conditionals, [BlockGibbs] those with hidden units,
// [PairGibbs] and [Swap] counts that must not change, [Tempering] targets with
// several modes. Methods with a field Within stay in a language, exactly.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package mcmc

// Package mcmc samples discrete states by Markov chain Monte Carlo.
//
// # Which method
//
// Start with [DMALA] and check R-hat and the effective sample size. On sparse graphs
// compare it with [Gibbs], which is often ten times better per second. If neither is
// enough, the model decides:
//
//   - several modes, or barriers of more than a few nats: [Tempering] (see [Ladders]), or
//     [Cyclical], which is cheaper and crosses fewer barriers;
//   - many levels: [Paths], which changes many sites per evaluation of the model; [LocallyBalanced]
//     or [GWG], which change one site; or [DLMC], which has a jump time instead of a step size;
//   - an Ising or Potts model near its transition: the methods of package cluster;
//   - a spin glass on a lattice: cluster.Houdayer as the Base of [Tempering];
//   - a nearly linear energy, or a mean-field one: [DMAPS];
//   - a dense quadratic energy of some hundred sites: momentum.PDHAMS;
//   - states that no change of a single site reaches: [HammingBall], [BlockGibbs];
//   - a constraint on the whole state, such as a fixed count: the field Within of [DMALA] and
//     [DULA], [PairGibbs], [Swap], [BlockGibbs].
//
// auto.Method tries the methods that fit the model and keeps the best one.
//
// # What a method is
//
// A method is a [sampler.Method]: a struct whose zero value is the recommended setting.
// [sampler.NewChains] runs it. Every method except [DULA] and [DUPS] leaves the distribution of the
// model invariant,
//
//	πP = π,  π(x) ∝ exp(−E(x)),
//
// restricted to the language of the field Within if that is set. DULA and DUPS are biased; their
// docs state the error.
//
// The acceptance ratio uses the same probabilities, rounding included, from which the proposal was
// drawn, so invariance does not depend on rounding errors being small. First-order differences are
// used only to propose; acceptance uses the exact energy.
package mcmc

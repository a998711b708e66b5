// Package mcmc samples discrete states by Markov chain Monte Carlo.
//
// # Which method
//
// Start with [DMALA] and check R-hat and the effective sample size. On sparse graphs, compare it
// with [Gibbs], which often yields ten times as many effective draws per second. If neither is
// enough, choose by the model:
//
//   - several modes, or barriers of more than a few nats: [Tempering] (see [Ladders]), or
//     [Cyclical], which is cheaper and crosses fewer barriers;
//   - many levels: [Paths], which changes many sites per evaluation of the model; [LocallyBalanced]
//     or [GWG], which change one site; or [DLMC], which has a jump time instead of a step size;
//   - an Ising or Potts model near its transition: the methods of package cluster;
//   - a spin glass on a lattice: cluster.Houdayer as the Base of [Tempering];
//   - a nearly linear energy, or a mean-field one: [DMAPS];
//   - a dense quadratic energy of a few hundred sites: momentum.PDHAMS;
//   - states that no change of a single site reaches: [HammingBall], [BlockGibbs];
//   - a constraint on the whole state, such as a fixed count: [PairGibbs], [Swap], [BlockGibbs], or
//     the field Within of [DMALA] or [DULA].
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
// where P is the transition matrix of a step. If the field Within holds a language (a set of
// allowed states), π is restricted to these states. DULA and DUPS are biased; their docs state the
// error.
//
// Most methods propose moves from a table of energy differences, which may be first-order
// approximations. The acceptance probability is computed from exact energies, and from the rounded
// proposal probabilities that the draw used. So rounding errors do not disturb π.
package mcmc

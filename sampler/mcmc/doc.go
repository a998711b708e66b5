// Package mcmc holds the methods of Markov chain Monte Carlo on discrete states;
// every one of them but [DULA] and [DUPS], which state their error, leaves the
// distribution of its model invariant:
//
//	πP = π,  π(x) ∝ exp(−E(x)),
//
// restricted to a language where a field Within names one. Each is a
// sampler.Method, a struct whose zero value is the recommended setting, and
// sampler.NewChains runs it.
//
// # Which one
//
// Start with [DMALA], which changes many sites at once by a table of differences,
// and look at R-hat and the effective sample size before anything else. On sparse
// graphs put [Gibbs] beside it: it is often ten times better per second. When
// that is not enough:
//
//   - several modes, or barriers of more than a few nats: [Tempering] (see
//     [Ladders]), and [Cyclical], which is cheaper and crosses less;
//   - many levels: [Paths], which changes many sites per evaluation of the model,
//     and [LocallyBalanced] or [GWG], which change one; [DLMC] moves for a time
//     instead of by a step size;
//   - an Ising or Potts model near its transition: the methods of package
//     cluster, a room of this one; a spin glass on a lattice: its Houdayer as the
//     Base of [Tempering];
//   - an energy that is nearly linear, or all sites of which meet in a mean: [DMAPS];
//   - a dense quadratic energy of some hundred sites: PDHAMS of package momentum;
//   - states that no change of one site leads to: [HammingBall], [BlockGibbs];
//   - a constraint on the whole state, such as a fixed count: Within of [DMALA]
//     and [DULA], [PairGibbs], [Swap], [BlockGibbs].
//
// The Method of package auto tries those that fit and keeps the best.
//
// # Exactness
//
// The proposal probabilities in an acceptance ratio are the very numbers that
// were drawn with, rounding included, so invariance does not rest on rounding
// errors being small. First-order differences only ever propose; what accepts is
// the energy. Products that decide are written float64(a*b) + c: a compiler may
// fuse a*b + c, and fused bits differ between processors.
package mcmc

// Package gibbsite is the root of a library that draws samples from discrete
// distributions, under constraints, and proves that it does.
//
// Its only code is [SIMD]. Start with these:
//
//   - energy: what to sample from. Ising and Potts models, quadratic energies,
//     restricted Boltzmann machines, Markov chains, or a closure.
//   - sampler: how to move. Chains of MCMC kernels, their random streams and
//     the diagnostics that judge them.
//   - constraint: what is allowed. Regular expressions, counts, sums, lexicons
//     and their combinations, compiled once.
//   - projection: moving a distribution to what is allowed.
//   - dual: multipliers, for constraints that hold on average.
//
// One table of log-weights, sites × levels, flows through all of them:
//
//	energy → sampler → projection → draw
//
// and multipliers flow back through dual.
package gibbsite

// Package langevin runs Langevin chains on densities of reals: adjusted (MALA),
// which leave the density invariant, or unadjusted (ULA), with an error that
// shrinks with the step. See [New] and [Config].
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package langevin

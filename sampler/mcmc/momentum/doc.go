// Package momentum samples discrete states with a Gaussian momentum for every site.
//
// Use [PDHAMS] for a nearly quadratic energy of a few hundred sites, such as a dense Ising model or
// a Boltzmann machine. PDHAMS uses the curvature of the energy. [DHAMS] needs only the model's
// table of energy differences. Both require two levels or an energy.Ordinal model. For other models
// see package mcmc.
//
// Both leave the joint distribution of state x and momentum u
//
//	π(x, u) ∝ exp(−E(x) − ½|u|²)
//
// invariant, so that x has the distribution of the model. Neither is reversible, because a part of
// the momentum is kept from step to step. After a rejected move the momentum is reversed.
package momentum

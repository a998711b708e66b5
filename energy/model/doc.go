// Package model provides the standard discrete models: [Ising], [Potts], [Quadratic], [RBM],
// [Markov] chains and [Independent] sites. The topology of an Ising or Potts model is a [Lattice],
// a [FreeLattice] or a [Graph].
//
// Every model is an energy (in nats) with exact single-site differences. Its doc names the
// interfaces of package energy that it satisfies; ask for them with [energy.As]. Models are
// immutable, safe for concurrent use and allocate nothing in steady state.
package model

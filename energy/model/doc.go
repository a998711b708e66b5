// Package model holds the standard discrete models: [Ising], [Potts],
// [Quadratic] and [RBM], the chain [Markov] and the product [Independent], and
// the topologies of the first two: a [Lattice], a [FreeLattice] or a [Graph].
//
// Every model here is an energy (in nats) with exact single-site differences. It
// satisfies the interfaces of package energy that its doc names; ask for them
// with [energy.As]. Models are immutable, safe for concurrent use and allocate
// nothing in steady state.
//
// A product that enters a sum is written float64(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package model

// Package model provides the standard discrete models: [Ising], [Potts], [Quadratic], [RBM],
// [Markov] chains and [Independent] sites. The topology of an Ising or Potts model is a [Lattice],
// a [FreeLattice] or a [Graph].
//
// Each of these six types is an [energy.Model] that can compute exactly how a change of a single
// site changes the energy. The documentation of the type lists the optional interfaces of package
// energy that it supports; ask for them with [energy.As]. Models are immutable and safe for
// concurrent use. After their first calls they allocate nothing.
package model

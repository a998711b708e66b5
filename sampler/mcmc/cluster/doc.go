// Package cluster samples lattice models by changing whole clusters of sites at once.
//
//   - For Ising and Potts models near a phase transition, use [Wolff], or [SwendsenWang], which
//     updates all clusters in a step.
//   - For spin glasses and other models whose graph is known, use [Houdayer] with mcmc.Tempering as
//     its Base.
//
// Wolff and SwendsenWang accept two kinds of model. An energy.Matching model has any graph, one
// coupling for all edges, and the same field at every site. A two-level energy.Pairwise model has
// any couplings and fields.
//
// Near a phase transition domains grow as large as the lattice. A method that changes one site at a
// time then takes very long to flip a domain; these methods need a few steps. Cluster methods gain
// nothing away from the transition, in a strong field, or with competing couplings (an
// antiferromagnet on triangles). They are still correct there, but mcmc.Gibbs is faster.
//
// Each method is a [sampler.Method], a struct whose zero value is the recommended setting. It
// leaves the distribution π of its model invariant under the transition matrix P of a step:
//
//	πP = π,  π(x) ∝ exp(−E(x)).
package cluster

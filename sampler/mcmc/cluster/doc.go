// Package cluster holds the methods that change whole clusters of equal sites at
// once. Each leaves the distribution of its model invariant,
//
//	πP = π,  π(x) ∝ exp(−E(x)),
//
// and is a [sampler.Method], a struct whose zero value is the recommended setting.
//
// [SwendsenWang] and [Wolff] need an energy.Matching model, one that rewards neighbours for being equal
// or for being different, everywhere alike: Ising and Potts models of any graph,
// with a field that is the same at every site. Near a phase transition domains grow
// as large as the lattice, a method that changes one site at a time takes ever
// longer to turn them over, and these do so in a few steps. Away from it, in a
// strong field or where couplings compete (an antiferromagnet on triangles), they
// are correct and gain nothing; mcmc.Gibbs is then the faster method.
//
// [Houdayer] exchanges clusters between two replicas of any model whose graph is
// known, such as a spin glass.
//
// What decides about a bond or a cluster is compared with a uniform number of 53
// bits; probabilities are rounded to that. Products that decide are written
// float64(a*b) + c: a compiler may fuse a*b + c, and fused bits differ between
// processors.
package cluster

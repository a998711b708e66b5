// Package ground looks for states of lowest energy of two-level models of pairs
// ([Pairwise]): ground states of Ising models, large cuts of graphs, minima of
// QUBOs.
//
//	s, err := ground.New(m, ground.Config{Seed: 1})
//	err = s.Run(ctx, 200)
//	x, e := s.Best()
//
// A [Search] anneals again and again, each time from a temperature of its own and
// from the best state so far. It takes over, one by one, the clusters of sites in
// which the new state is better: improvements in different corners of a large sparse
// model do not wait for each other. Searches also take clusters from each other.
// Nothing proves that the best state found is the best there is.
//
// For other models, constraints and more than two levels there is package anneal.
//
// Products are written T(a*b) + c: a compiler may fuse a*b + c, and fused bits
// differ between processors.
package ground

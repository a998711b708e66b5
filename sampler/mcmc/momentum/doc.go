// Package momentum holds methods of Markov chain Monte Carlo that give every site
// of a discrete state a Gaussian momentum and leave the joint distribution
//
//	π(x, u) ∝ exp(−E(x) − ½|u|²)
//
// invariant, so that x is distributed as the model. They are not reversible: a move
// that is accepted goes on in its direction, and one that is rejected turns back.
// [DHAMS] uses the first-order table of the model, [PDHAMS] its curvature as well.
//
// Products that decide are written float64(a*b) + c: a compiler may fuse a*b + c,
// and fused bits differ between processors.
package momentum

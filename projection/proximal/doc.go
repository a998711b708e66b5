// Package proximal projects real-valued series onto the solutions of linear and smooth
// inequalities. Of all points that satisfy the inequalities, it finds the point nearest to a given
// one, in float64. It also returns a certificate of the accuracy.
//
// A [Projector] describes the inequalities. A runner such as package sampler/diffusion binds it;
// for direct use, compile it to a [Solver].
package proximal
